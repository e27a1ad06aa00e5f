-- Words in blocks: a row says where a word stands in 1,024 chunks that follow one another, two bytes a chunk: ten bits of
-- its number within the block, then six of the count, which is 63 at most. A row a word and chunk took ten times as much.
drop table mem.words;
create table mem.words(
    workspace integer not null references mem.workspaces on delete cascade, block integer not null check (block >= 0),
    term text collate "C" not null, postings bytea not null check (length(postings) % 2 = 0),
    primary key(workspace, term, block)
);
alter table mem.words alter column postings set storage plain; -- a whole block is a quarter of a page
alter table mem.words enable row level security;
alter table mem.words force row level security;
create policy visible on mem.words using (elem_contained_by_multirange(workspace, (select mem.visible_set()))
    and workspace = any(array(select mem.visible())));
grant select, insert, update (postings), delete on mem.words to public;
do $$
declare name text;
begin
    for name in
        select format('alter table mem.words alter column %I set statistics 0', attname)
        from pg_attribute where attrelid = 'mem.words'::regclass and attnum > 0
    loop
        execute name;
    end loop;
end $$;

-- With what a filter asks of chunks: their texts are then not read for it.
alter table mem.chunks drop constraint chunks_pkey, add primary key (workspace, chunk) include (file, kind, status, timestamp);

create or replace function mem.add_words() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    insert into mem.words as own(workspace, block, term, postings)
    select workspace, (chunk >> 10)::integer, word.term,
        string_agg(substr(int4send((chunk & 1023)::integer << 6 | least(word.count, 63)), 3), '' order by chunk)
    from added, unnest(added.words, added.counts) as word(term, count) group by 1, 2, 3
    on conflict (workspace, term, block) do update set postings = own.postings || excluded.postings;
    return null;
end $$;
-- Each word is looked up by itself: how many there are, row security hides from the planner.
create or replace function mem.drop_words() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
    set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    if not exists (select from mem.workspaces where workspace in (select workspace from dropped)) then
        return null; -- it goes with all its words
    end if;
    with gone as (
        select workspace, (chunk >> 10)::integer as block, former.term, array_agg((chunk & 1023)::integer) as chunks
        from dropped, unnest(dropped.words) as former(term) group by 1, 2, 3
    )
    update mem.words as word set postings = coalesce((
        select string_agg(substr(postings, 2 * at + 1, 2), '' order by at)
        from generate_series(0, length(postings) / 2 - 1) as at
        where (get_byte(postings, 2 * at) << 2 | (get_byte(postings, 2 * at + 1) >> 6)) <> all(gone.chunks)
    ), '') from gone where word.workspace = gone.workspace and word.term = gone.term and word.block = gone.block;
    delete from mem.words as word using (
        select distinct workspace, (chunk >> 10)::integer as block, former.term
        from dropped, unnest(dropped.words) as former(term)
    ) as gone
    where word.workspace = gone.workspace and word.term = gone.term and word.block = gone.block and postings = '';
    delete from mem.embeddings as embedding using dropped
    where embedding.workspace = dropped.workspace and embedding.hash = dropped.hash and not exists (
        select from mem.chunks as chunk where chunk.workspace = dropped.workspace and chunk.hash = dropped.hash
    );
    return null;
end $$;

-- What is pushed already, which row security hides from whoever runs this until it is forced again.
alter table mem.words no force row level security;
alter table mem.chunks no force row level security;
insert into mem.words(workspace, block, term, postings)
    select workspace, (chunk >> 10)::integer, word.term,
        string_agg(substr(int4send((chunk & 1023)::integer << 6 | least(word.count, 63)), 3), '' order by chunk)
    from mem.chunks, unnest(words, counts) as word(term, count) group by 1, 2, 3;
alter table mem.words force row level security;
alter table mem.chunks force row level security;
