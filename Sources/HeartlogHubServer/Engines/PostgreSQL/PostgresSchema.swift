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
      -- Of an encrypted vault: what the hub knows of its root, and the owner of what the root puts.
      root_state bytea,
      root uuid,
      -- Only the root admits them again.
      removed uuid[] not null default '{}',
      -- Whether members share the quota.
      shared boolean not null default false
    ) with (fillfactor = 70);

    -- The admitted keys, with the root. An owner is the beginning of the hash of its key.
    create table members (
      vault uuid not null,
      owner uuid not null,
      key bytea not null,
      objects integer not null default 0,
      bytes bigint not null default 0,
      primary key (vault, owner)
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
      digest_ bytea, vault_ uuid, owner_ uuid, key_ bytea, challenge_ bytea, seconds integer, most integer
    ) returns integer language plpgsql as $$
    declare now_ timestamptz := clock_timestamp();
    begin
      delete from sessions where expires < now_;
      perform from vaults where id = vault_ for share;
      if not exists (select from members where vault = vault_ and owner = owner_) then return 1; end if;
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
      owner uuid not null,
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
    --
    -- `rooms` is how much of the room for keys an object may take: the root twice as much.
    create function put(
      vaults_ uuid[], digests uuid[], names text[], contents bytea[], owners_ uuid[], quota bigint,
      objects_max integer, room_bytes bigint, room_objects integer
    ) returns table (place bigint, outcome integer) language plpgsql as $$
    declare places bigint[];
    begin
      -- In order, so that two hubs never wait for each other.
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      with numbered as (
        select i.*, v.change + row_number() over w as change, v.objects + row_number() over w as objects,
          v.bytes + sum(length(i.bytes)) over w as used,
          m.objects + row_number() over o as own_objects, m.bytes + sum(length(i.bytes)) over o as own_used,
          case when v.root = i.owner then 2 when i.name like 'keys/%' then 1 else 0 end as rooms, v.shared
        from unnest(vaults_, digests, names, contents, owners_)
          with ordinality as i(vault, digest, name, bytes, owner, place)
          join vaults v on v.id = i.vault
          join members m on m.vault = i.vault and m.owner = i.owner
        window w as (partition by i.vault order by i.place),
          o as (partition by i.vault, i.owner order by i.place)),
      stored as (
        insert into objects (vault, change, digest, name, owner, bytes)
        select n.vault, n.change, n.digest, n.name, n.owner, n.bytes from numbered n
        where n.objects <= objects_max + n.rooms * room_objects and n.used <= quota + n.rooms * room_bytes
          and (n.rooms = 2 or not n.shared or n.own_objects <= (objects_max + n.rooms * room_objects) / 2
            and n.own_used <= (quota + n.rooms * room_bytes) / 2)
        on conflict do nothing
        returning objects.vault, objects.change, objects.owner, length(objects.bytes) as added),
      counted as (
        update vaults v set change = s.last, objects = v.objects + s.steps, bytes = v.bytes + s.added
        from (
          select s.vault, max(s.change) as last, count(*)::integer as steps, sum(s.added)::bigint as added
          from stored s group by s.vault) s
        where v.id = s.vault),
      owned as (
        update members m set objects = m.objects + s.steps, bytes = m.bytes + s.added
        from (
          select s.vault, s.owner, count(*)::integer as steps, sum(s.added)::bigint as added
          from stored s group by s.vault, s.owner) s
        where m.vault = s.vault and m.owner = s.owner)
      select coalesce(array_agg(n.place), '{}') into places
      from numbered n join stored s on s.vault = n.vault and s.change = n.change;
      return query select p, 0 from unnest(places) p;
      if cardinality(places) < cardinality(vaults_) then
        return query
          select i.place,
            case when m.owner is null then 4 when o.bytes = i.bytes then 1 when o.bytes is not null then 2 else 3 end
          from unnest(vaults_, digests, contents, owners_)
            with ordinality as i(vault, digest, bytes, owner, place)
            left join members m on m.vault = i.vault and m.owner = i.owner
            left join objects o on o.vault = i.vault and o.digest = i.digest
          where not i.place = any(places);
      end if;
    end $$;

    -- The places of those whose key is admitted, whether there was such an object or not.
    create function remove(vaults_ uuid[], digests uuid[], owners_ uuid[])
    returns setof bigint language plpgsql as $$
    begin
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      return query
        with input as (
          select i.* from unnest(vaults_, digests, owners_) with ordinality as i(vault, digest, owner, place)
            join members m on m.vault = i.vault and m.owner = i.owner),
        removed as (
          delete from objects o using input i
          where o.vault = i.vault and o.digest = i.digest returning o.vault, o.owner, length(o.bytes) as bytes),
        counted as (
          update vaults v set objects = v.objects - r.objects, bytes = v.bytes - r.bytes
          from (
            select removed.vault, count(*)::integer as objects, sum(removed.bytes)::bigint as bytes
            from removed group by removed.vault) r
          where v.id = r.vault),
        owned as (
          update members m set objects = m.objects - r.objects, bytes = m.bytes - r.bytes
          from (
            select removed.vault, removed.owner, count(*)::integer as objects, sum(removed.bytes)::bigint as bytes
            from removed group by removed.vault, removed.owner) r
          where m.vault = r.vault and m.owner = r.owner)
        select input.place from input;
    end $$;

    create function create_vault(
      id_ uuid, generation_ bigint, keys_ bytea[], owners_ uuid[], state bytea, root_ uuid, removed_ uuid[],
      shared_ boolean, invitation bytea
    ) returns integer language plpgsql as $$
    begin
      if exists (select from vaults where id = id_) then return 1; end if;
      if invitation is not null then
        insert into invitations values (invitation, id_) on conflict do nothing;
        if not found and not exists (select from invitations where digest = invitation and vault = id_) then
          return 2;
        end if;
      end if;
      insert into vaults (id, generation, root_state, root, removed, shared)
        values (id_, generation_, state, root_, removed_, shared_) on conflict do nothing;
      if not found then return 1; end if;
      insert into members (vault, owner, key) select id_, o, k from unnest(owners_, keys_) as i(o, k);
      return 0;
    end $$;

    create function remove_vault(id_ uuid) returns integer language plpgsql as $$
    begin
      delete from vaults where id = id_;
      if not found then return 0; end if;
      delete from members where vault = id_;
      delete from objects where vault = id_;
      delete from sessions where vault = id_;
      return 1;
    end $$;

    -- 0 if the keys are others than those that the caller has seen.
    create function change_keys(
      vault_ uuid, keys_before bytea[], state_before bytea, removed_before uuid[], keys_ bytea[], owners_ uuid[],
      state bytea, root_ uuid, removed_ uuid[], shared_ boolean, gone uuid[], kept text[], ended bytea[]
    ) returns integer language plpgsql as $$
    declare root_before uuid;
    begin
      select root into root_before from vaults
        where id = vault_ and root_state is not distinct from state_before and removed = removed_before for update;
      if not found or array(select key from members where vault = vault_ order by key) <> keys_before then
        return 0;
      end if;
      -- All but its own commits up to the one that stays, and the keys of the vault. A name has a writer, a stream, and two commits.
      with removed as (
        delete from objects o using unnest(gone, kept) as g(owner, last)
        where o.vault = vault_ and o.owner = g.owner and o.name not like 'keys/%'
          and not (left(o.name, 32) = substr(o.name, 34, 32) and substr(o.name, 84, 16) <= g.last collate "C")
        returning o.owner, length(o.bytes) as bytes),
      owned as (
        update members m set objects = m.objects - r.objects, bytes = m.bytes - r.bytes
        from (
          select removed.owner, count(*)::integer as objects, sum(removed.bytes)::bigint as bytes
          from removed group by removed.owner) r
        where m.vault = vault_ and m.owner = r.owner)
      update vaults v set objects = v.objects - r.objects, bytes = v.bytes - r.bytes
      from (select count(*)::integer as objects, coalesce(sum(removed.bytes), 0)::bigint as bytes from removed) r
      where v.id = vault_;
      delete from members where vault = vault_ and not key = any(keys_);
      insert into members (vault, owner, key) select vault_, o, k from unnest(owners_, keys_) as i(o, k)
        on conflict do nothing;
      update vaults set root_state = state, root = root_, removed = removed_, shared = shared_ where id = vault_;
      -- What one root put is the next one's.
      if root_before <> root_ then
        update objects set owner = root_ where vault = vault_ and owner = root_before;
        update members m set objects = o.objects, bytes = o.bytes
        from (
          select count(*)::integer as objects, coalesce(sum(length(bytes)), 0)::bigint as bytes
          from objects where vault = vault_ and owner = root_) o
        where m.vault = vault_ and m.owner = root_;
      end if;
      delete from sessions where vault = vault_ and (key = any(ended) or not key = any(keys_));
      return 1;
    end $$;
    """
}
