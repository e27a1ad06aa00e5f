-- A member who chose numbers ahead of those that are given out, or a time after all others, kept everybody from pushing.
-- So the server alone says when a push is: later than those before it, whatever became of its clock.
create function mem.note_push() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.pushed_at := greatest(
        clock_timestamp(),
        (select max(pushed_at) from mem.files where workspace = new.workspace) + interval '1 microsecond'
    );
    return new;
end $$;
revoke execute on function mem.note_push() from public;
create trigger note_push before insert or update of digest on mem.files for each row execute function mem.note_push();
revoke insert, update on mem.files, mem.chunks from public;
grant insert (workspace, path, kind, status, digest, pieces, entry),
    update (kind, status, digest, pieces, entry) on mem.files to public;
grant insert (workspace, file, kind, status, anchor, line, stop, title, prefix, text, timestamp, hash, is_whole, words,
    counts), update (kind, status) on mem.chunks to public;
