-- What a machine notes of the server, in `.mem/team.db`: see index/postgres/push.py.
create table if not exists team.notes(key text primary key, value) without rowid;
create table if not exists team.listed(
    path text primary key, file integer not null, digest text not null, chunks integer not null
) without rowid;
create table if not exists team.common(path text primary key, digest text not null, is_ours integer) without rowid;
create table if not exists team.usage(id text primary key, count integer not null, last text not null) without rowid;
create table if not exists team.former(hash blob primary key) without rowid;
