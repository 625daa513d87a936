import Heartlog

/// The schema of the database, and its migrations.
///
/// A vault's row is locked by whoever changes its objects, until that is committed. So the numbers of its changes become visible in order,
/// and a list after a number misses nothing.
enum PostgresSchema {
  /// Each brings a database from the version of its index to the next one.
  static let migrations = [version1]

  /// What two hubs that start at once must not do both.
  static let migrationLock: Int64 = 0x6865_6172_746c_6f67

  private static let version1 = """
    create table vaults (
      id uuid primary key,
      generation bigint not null,
      change bigint not null default 0,
      objects integer not null default 0,
      bytes bigint not null default 0,
      keys bytea[] not null
    ) with (fillfactor = 70);

    create table invitations (digest bytea primary key, vault uuid not null);

    -- What challenges are made with: 32 bytes, of which 244 bits are random.
    create table secret as
      select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as bytes;

    -- What is in it is worth ten minutes: no log is written for it.
    create unlogged table sessions (
      digest bytea primary key, vault uuid not null, key bytea not null, challenge bytea not null unique,
      expires timestamptz not null
    );
    create index on sessions (vault, key);
    create index on sessions (expires);

    -- Only while the key is admitted: its removal locks the same row. 0 if the challenge was used.
    --
    -- The time is a variable: a function that is volatile would keep the index from being used, and all rows would be read.
    create function open_session(
      digest_ bytea, vault_ uuid, key_ bytea, challenge_ bytea, seconds integer, most integer
    ) returns integer language plpgsql as $$
    declare now_ timestamptz := clock_timestamp();
    begin
      delete from sessions where expires < now_;
      perform from vaults where id = vault_ and key_ = any(keys) for share;
      if not found then return 1; end if;
      insert into sessions values (digest_, vault_, key_, challenge_, now_ + make_interval(secs => seconds))
        on conflict do nothing;
      if not found then return 0; end if;
      delete from sessions where digest in (
        select s.digest from sessions s where s.vault = vault_ and s.key = key_
        order by s.expires desc offset most);
      return 1;
    end $$;

    -- Contents are encrypted or compressed already. Those that fit into a page stay in the row: the rest of the page takes small ones.
    create table objects (
      vault uuid not null,
      change bigint not null,
      digest uuid not null,
      name text collate "C" not null,
      bytes bytea not null,
      primary key (vault, change)
    ) partition by hash (vault);
    do $$ begin
      for part in 0..3 loop
        execute format(
          'create table objects_%s partition of objects for values with (modulus 4, remainder %s)', part, part);
        execute format('alter table objects_%s alter column bytes set storage external', part);
        execute format('alter table objects_%s set (toast_tuple_target = 8160)', part);
      end loop;
    end $$;
    create unique index on objects (vault, digest);

    -- Finding out what is there before it is inserted would take three times as long: the few that are not stored are looked at afterwards. An
    -- object that is there counts in its batch, so a vault that is almost full may refuse one that would just fit.
    create function put(
      vaults_ uuid[], digests uuid[], names text[], contents bytea[], keys_ bytea[], quota bigint,
      objects_max integer
    ) returns table (place bigint, outcome integer) language plpgsql as $$
    declare places bigint[];
    begin
      -- In order, so that two hubs never wait for each other.
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      with numbered as (
        select i.*, v.change + row_number() over w as change, v.objects + row_number() over w as objects,
          v.bytes + sum(length(i.bytes)) over w as used
        from unnest(vaults_, digests, names, contents, keys_)
          with ordinality as i(vault, digest, name, bytes, key, place)
          join vaults v on v.id = i.vault and i.key = any(v.keys)
        window w as (partition by i.vault order by i.place)),
      stored as (
        insert into objects (vault, change, digest, name, bytes)
        select n.vault, n.change, n.digest, n.name, n.bytes from numbered n
        where n.objects <= objects_max and n.used <= quota
        on conflict do nothing
        returning objects.vault, objects.change, length(objects.bytes) as added),
      counted as (
        update vaults v set change = s.last, objects = v.objects + s.steps, bytes = v.bytes + s.added
        from (
          select s.vault, max(s.change) as last, count(*)::integer as steps, sum(s.added)::bigint as added
          from stored s group by s.vault) s
        where v.id = s.vault)
      select coalesce(array_agg(n.place), '{}') into places
      from numbered n join stored s on s.vault = n.vault and s.change = n.change;
      return query select p, 0 from unnest(places) p;
      if cardinality(places) < cardinality(vaults_) then
        return query
          select i.place,
            case when v.id is null then 4 when o.bytes = i.bytes then 1 when o.bytes is not null then 2 else 3 end
          from unnest(vaults_, digests, contents, keys_) with ordinality as i(vault, digest, bytes, key, place)
            left join vaults v on v.id = i.vault and i.key = any(v.keys)
            left join objects o on o.vault = i.vault and o.digest = i.digest
          where not i.place = any(places);
      end if;
    end $$;

    -- The places of those whose key is admitted, whether there was such an object or not.
    create function remove(vaults_ uuid[], digests uuid[], keys_ bytea[])
    returns setof bigint language plpgsql as $$
    begin
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      return query
        with input as (
          select i.* from unnest(vaults_, digests, keys_) with ordinality as i(vault, digest, key, place)
            join vaults v on v.id = i.vault and i.key = any(v.keys)),
        removed as (
          delete from objects o using input i
          where o.vault = i.vault and o.digest = i.digest returning o.vault, length(o.bytes) as bytes),
        counted as (
          update vaults v set objects = v.objects - r.objects, bytes = v.bytes - r.bytes
          from (
            select removed.vault, count(*)::integer as objects, sum(removed.bytes)::bigint as bytes
            from removed group by removed.vault) r
          where v.id = r.vault)
        select input.place from input;
    end $$;

    create function create_vault(id_ uuid, generation_ bigint, key bytea, invitation bytea)
    returns integer language plpgsql as $$
    begin
      if exists (select from vaults where id = id_) then return 1; end if;
      if invitation is not null then
        insert into invitations values (invitation, id_) on conflict do nothing;
        if not found then return 2; end if;
      end if;
      insert into vaults (id, generation, keys) values (id_, generation_, array[key]) on conflict do nothing;
      if not found then return 1; end if;
      return 0;
    end $$;

    -- The keys afterwards; none if none or too many would be left. Null if the one who asks is not admitted.
    create function change_keys(vault_ uuid, key_ bytea, removing bytea[], admitting bytea[], keys_max integer)
    returns setof bytea language plpgsql as $$
    declare changed bytea[];
    begin
      perform from vaults where id = vault_ and key_ = any(keys) for update;
      if not found then return query select null::bytea; return; end if;
      select array(
        select k from vaults v, unnest(v.keys) k where v.id = vault_ and not k = any(removing)
        union select unnest(admitting) order by 1) into changed;
      if cardinality(changed) not between 1 and keys_max then return; end if;
      update vaults set keys = changed where id = vault_;
      delete from sessions where vault = vault_ and not key = any(changed);
      return query select unnest(changed);
    end $$;
    """
}
