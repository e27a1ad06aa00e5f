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
