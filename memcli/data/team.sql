-- The index that a team shares: run by its administrator in a database of its own, once.
--
--     mem index --sql | psql --set ON_ERROR_STOP=1 DATABASE
--     select mem.add_member('shop', 'ann');
--
-- If only a superuser may install pgvector: create schema mem authorization ADMINISTRATOR;
-- create extension vector schema mem;
--
-- The files of each member stay the truth. To change the version: drop schema mem cascade, run this
-- file again, and let each member push with `mem index`.
--
-- No function here has more rights than its caller, so row-level security alone decides what a role
-- can see: the members of a space read all of it, and each changes only rows of their own.
begin;
-- A function or operator that somebody created in another schema must not be found from here.
set local search_path = pg_catalog, pg_temp;

create schema if not exists mem;
create extension if not exists vector schema mem;
do $$ begin
    if not exists (
        select from pg_extension where extname = 'vector' and extnamespace = 'mem'::regnamespace
    ) then
        raise 'pgvector is in another schema: give mem a database of its own';
    end if;
end $$;

create function mem.version() returns integer language sql immutable
    begin atomic select 1; end;

-- No index begins with a name or a text: EXPLAIN would show whether a guess is right. The names of
-- spaces are unique because add_member is the only writer.
create table mem.spaces(
    space integer generated always as identity primary key, name text not null
);
create table mem.members(
    role name not null, space integer not null references mem.spaces on delete cascade,
    primary key(role, space)
);
-- The reference to members locks the membership when a row is written. A role that has just been
-- removed cannot write in a transaction that it began before.
create table mem.files(
    space integer not null, owner name not null default current_user,
    machine text collate "C" not null, path text collate "C" not null,
    id text collate "C" not null, digest text not null,
    body text not null check (length(body) <= 1000000),
    primary key(space, owner, machine, path),
    foreign key(space, owner) references mem.members(space, role) on delete cascade
);
create index files_by_id on mem.files(space, id);
-- Vectors are compared one by one: 100,000 take less time than mem needs to start, and the answer is
-- exact. A graph would have to be made for each space (docs/team.md). The gaps in the answers of a
-- common graph would show where the vectors of other teams are.
create table mem.chunks(
    space integer not null, owner name not null default current_user,
    machine text collate "C" not null, path text collate "C" not null, number integer not null,
    at text collate "C" not null, labels text[] not null, words tsvector not null,
    hash bytea not null, vector mem.halfvec(384),
    primary key(space, owner, machine, path, number),
    foreign key(space, owner, machine, path) references mem.files on delete cascade
);
-- Ids only. They keep a machine that has not heard of a purge from bringing the memory back.
create table mem.purged(
    space integer not null, owner name not null default current_user, id text collate "C" not null,
    primary key(space, owner, id),
    foreign key(space, owner) references mem.members(space, role) on delete cascade
);

-- The role is the one that the server authenticated. No setting of the client matters.
create function mem.my_spaces() returns setof integer language sql stable parallel safe rows 10
    begin atomic select space from mem.members where role = current_user; end;
create function mem.my_space_set() returns int4multirange language sql stable parallel safe
    begin atomic
        select coalesce(range_agg(int4range(space, space + 1)), '{}') from mem.my_spaces() as space;
    end;

do $$
declare
    name text;
    -- PostgreSQL may run a leakproof comparison of the caller, such as text = text, before a policy
    -- that costs more, and EXPLAIN shows a policy that never ran. The first condition costs as
    -- little as any comparison; the second one can use the indexes, which all begin with the space.
    visible constant text := 'elem_contained_by_multirange(space, (select mem.my_space_set()))'
        ' and space = any(array(select mem.my_spaces()))';
    own constant text := visible || ' and owner = current_user';
begin
    foreach name in array array['spaces', 'members', 'files', 'chunks', 'purged'] loop
        execute format('alter table mem.%I enable row level security', name);
        execute format('alter table mem.%I force row level security', name);
    end loop;
    foreach name in array array['files', 'chunks', 'purged'] loop
        execute format('create policy read on mem.%I for select using (%s)', name, visible);
        execute format('create policy add on mem.%I for insert with check (%s)', name, own);
        execute format('create policy change on mem.%I for update using (%s)', name, own);
        execute format('create policy remove on mem.%I for delete using (%s)', name, own);
    end loop;
    -- The administrator decides who is a member, and reads no memories.
    foreach name in array array['spaces', 'members'] loop
        execute format('create policy administer on mem.%I to current_user using (true)', name);
    end loop;
end $$;
create policy read on mem.spaces for select
    using (elem_contained_by_multirange(space, (select mem.my_space_set())));
create policy read on mem.members for select using (role = current_user);

grant select on mem.spaces, mem.members, mem.files, mem.chunks, mem.purged to public;
grant delete on mem.files, mem.chunks to public;
grant insert(space, machine, path, id, digest, body), update(id, digest, body) on mem.files to public;
grant insert(space, machine, path, number, at, labels, words, hash, vector) on mem.chunks to public;
grant insert(space, id) on mem.purged to public;

-- The planner's statistics are about the rows of all spaces, and EXPLAIN shows estimates.
do $$
declare which record;
begin
    for which in
        select relname, attname from pg_attribute join pg_class on pg_class.oid = attrelid
        where relnamespace = 'mem'::regnamespace and relkind = 'r' and attnum > 0
    loop
        execute format(
            'alter table mem.%I alter column %I set statistics 0', which.relname, which.attname
        );
    end loop;
end $$;

-- Let a role read and write a space, which is created if it is new.
create function mem.add_member(space_name text, member name) returns void language plpgsql
    set search_path = pg_catalog, pg_temp as $$
declare number integer;
begin
    if not exists (
        select from pg_roles where rolname = member and not rolsuper and not rolbypassrls
    ) then
        raise '% is no role that row-level security binds', quote_ident(member);
    end if;
    lock table mem.spaces in share row exclusive mode;
    select space into number from mem.spaces where name = space_name;
    if number is null then
        insert into mem.spaces(name) values (space_name) returning space into number;
    end if;
    execute format('grant usage on schema mem to %I', member);
    insert into mem.members values (member, number) on conflict do nothing;
end $$;

-- Take a role out of a space, with all that it pushed. Without a right it can be dropped.
create function mem.remove_member(space_name text, member name) returns void language plpgsql
    set search_path = pg_catalog, pg_temp as $$
begin
    delete from mem.members using mem.spaces
        where members.space = spaces.space and name = space_name and role = member;
    if not exists (select from mem.members where role = member) and member <> current_user
        and exists (select from pg_roles where rolname = member)
    then
        execute format('revoke usage on schema mem from %I', member);
    end if;
end $$;
revoke execute on function mem.add_member, mem.remove_member from public;
commit;
