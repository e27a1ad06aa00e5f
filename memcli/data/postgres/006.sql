-- Who is a member no more has no say in a transaction or statement that he began before: the workspace is looked for
-- anew, and locked, which fails where members_sql has touched it since.
create function mem.require_member() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare each integer;
begin
    for each in select distinct workspace from changed loop
        perform from mem.workspaces where workspace = each for no key update;
        if not found and tg_op <> 'DELETE' then -- with a workspace goes all that is in it
            raise insufficient_privilege using message = 'no member of the workspace any more';
        end if;
    end loop;
    return null;
end $$;
revoke execute on function mem.require_member() from public;
do $$
declare name text;
begin
    foreach name in array array['files', 'chunks'] loop
        execute format('create trigger require_inserting after insert on mem.%I referencing new table as changed'
            ' for each statement execute function mem.require_member()', name);
        execute format('create trigger require_updating after update on mem.%I referencing old table as changed'
            ' for each statement execute function mem.require_member()', name);
        execute format('create trigger require_deleting after delete on mem.%I referencing old table as changed'
            ' for each statement execute function mem.require_member()', name);
    end loop;
end $$;
