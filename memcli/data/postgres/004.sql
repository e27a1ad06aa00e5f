-- A trigger's function may be put on any table of one's own unless that is taken away, and this one does what its maker
-- may: whoever hung it on a temporary table became a member of any workspace.
create or replace function mem.add_maker() returns trigger language plpgsql security definer
    set search_path = pg_catalog, pg_temp as $$
begin
    if tg_relid = 'mem.workspaces'::regclass then
        insert into mem.members(owner, workspace) select owner, workspace from added where owner is not null;
    end if;
    return null;
end $$;
revoke execute on function mem.add_maker(), mem.add_words(), mem.drop_words(), mem.note_former() from public;
-- An identity needs no right to its sequence; who had one could use up the numbers of everybody's workspaces.
revoke usage on all sequences in schema mem from public;
-- Its argument has a name: a dump of one without could not be read back.
create or replace function mem.json_each(list text) returns table(value text) language sql immutable
begin atomic
    select jsonb_array_elements_text(list::jsonb);
end;
-- Each word and vector is looked up by itself, in an order that the planner cannot turn: it took the words of the workspace
-- for few, and compared all of them with all that went. What a large file said took longer to remove than a push may last.
create or replace function mem.drop_words() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
    set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    if not exists (select from mem.workspaces where workspace in (select workspace from dropped)) then
        return null; -- it goes with all its words
    end if;
    with gone as materialized (
        select workspace, (chunk >> 10)::integer as block, former.term, array_agg((chunk & 1023)::integer) as chunks
        from dropped, unnest(dropped.words) as former(term) group by 1, 2, 3
    ), place as materialized (
        select held.* from gone cross join lateral (
            select word.ctid as row, coalesce((
                select string_agg(substr(postings, 2 * at + 1, 2), '' order by at)
                from generate_series(0, length(postings) / 2 - 1) as at
                where (get_byte(postings, 2 * at) << 2 | (get_byte(postings, 2 * at + 1) >> 6)) <> all(gone.chunks)
            ), '') as left_over from mem.words as word
            where word.workspace = gone.workspace and word.term = gone.term and word.block = gone.block offset 0
        ) as held
    ), emptied as (
        delete from mem.words as word using place where word.ctid = place.row and left_over = ''
    )
    update mem.words as word set postings = left_over from place where word.ctid = place.row and left_over <> '';
    with place as materialized (
        select held.row from (select distinct workspace, hash from dropped) as gone cross join lateral (
            select embedding.ctid as row from mem.embeddings as embedding
            where embedding.workspace = gone.workspace and embedding.hash = gone.hash and not exists (
                select from mem.chunks as chunk where chunk.workspace = gone.workspace and chunk.hash = gone.hash
            ) offset 0
        ) as held
    )
    delete from mem.embeddings as embedding using place where embedding.ctid = place.row;
    return null;
end $$;
