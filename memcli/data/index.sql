
create table meta(key text primary key, value) without rowid;
create table files(
    file integer primary key, path text unique not null, kind text not null, status text not null,
    mtime integer, ctime integer, size integer, inode integer, noted integer, digest text not null,
    managed integer not null
);
create index files_unmanaged on files(file) where managed = 0;
create table links(
    name text not null, target text not null, file integer not null, primary key(name, target, file)
) without rowid;
create index links_of on links(file);
create table texts(file integer primary key, text text not null);
create table problems(file integer not null, path text not null, line integer not null, reason text not null);
create index problems_of on problems(file);
create table entries(
    file integer primary key, id text not null, type text, layer text, title text, tags text, project text,
    created_at text, updated_at text, source text, status text, trust real, confidence real, salience real,
    strength integer, pinned integer, expires_at text, superseded_by text, conflicts_with text,
    verdicts text, access_count integer, last_accessed_at text, summary text, key text, superseded_at text,
    version_of text, aliases text not null
);
create index entries_by_id on entries(id);
create index entries_by_version on entries(version_of) where version_of <> '';
create index entries_with_aliases on entries(file) where aliases <> '';
create index entries_by_tail on entries(substr(id, -6));
create table forgotten(file integer not null, said text not null);
create index forgotten_by_words on forgotten(said);
create index forgotten_of on forgotten(file);
create table chunks(
    chunk integer primary key autoincrement, file integer not null, kind text not null, status text not null,
    anchor text not null, line integer not null, start integer not null, stop integer not null,
    title text not null, prefix text not null, timestamp text not null, hash blob not null, vector integer
);
create index chunks_of on chunks(file);
create index chunks_by_hash on chunks(hash);
create index chunks_to_embed on chunks(chunk) where vector is null;
create virtual table words using fts5(title, tags, body, tokenize="@tokenize");
create table turns(chunk integer primary key, text text not null);
create table talks(
    file integer primary key, size integer not null, lines integer not null, events integer not null,
    previous text not null, timestamp text not null
);
create table arrivals(id text primary key, at text not null) without rowid;
create table vectors(hash blob primary key, vector integer not null, used integer not null) without rowid;
