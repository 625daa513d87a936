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

    -- What is in these two is worth ten minutes: no log is written for it.
    create unlogged table challenges (challenge bytea primary key, expires timestamptz not null);
    create unlogged table sessions (
      digest bytea primary key, vault uuid not null, key bytea not null, expires timestamptz not null
    );
    create index on sessions (vault, key);
    create index on sessions (expires);
    create index on challenges (expires);

    create function add_challenge(challenge bytea, seconds integer, most integer)
    returns integer language plpgsql as $$
    begin
      delete from challenges where expires < clock_timestamp();
      if (select count(*) from challenges) >= most then return 0; end if;
      insert into challenges values (challenge, clock_timestamp() + make_interval(secs => seconds));
      return 1;
    end $$;

    -- Only while the key is admitted: its removal locks the same row.
    create function open_session(digest bytea, vault_ uuid, key_ bytea, seconds integer)
    returns void language plpgsql as $$
    begin
      delete from sessions where expires < clock_timestamp();
      perform from vaults where id = vault_ and key_ = any(keys) for share;
      if found then
        insert into sessions values (digest, vault_, key_, clock_timestamp() + make_interval(secs => seconds));
      end if;
    end $$;

    -- Contents are encrypted or compressed already. Those of up to half a page stay in the row.
    create table objects (
      vault uuid not null,
      change bigint not null,
      digest uuid not null,
      name text collate "C" not null,
      bytes bytea not null,
      primary key (vault, change)
    ) partition by hash (vault);
    do $$ begin
      for part in 0..15 loop
        execute format(
          'create table objects_%s partition of objects for values with (modulus 16, remainder %s)', part, part);
        execute format('alter table objects_%s alter column bytes set storage external', part);
        execute format('alter table objects_%s set (toast_tuple_target = 4080)', part);
      end loop;
    end $$;
    create unique index on objects (vault, digest);

    create function put(
      vaults_ uuid[], digests uuid[], names text[], contents bytea[], quota bigint, objects_max integer
    ) returns table (place bigint, outcome integer) language plpgsql as $$
    begin
      -- In order, so that two hubs never wait for each other.
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      return query
        with input as (
          select * from unnest(vaults_, digests, names, contents)
            with ordinality as i(vault, digest, name, bytes, place)),
        looked as (
          select i.*, v.id is null as homeless, v.change, v.objects, v.bytes as used, o.bytes = i.bytes as same
          from input i left join vaults v on v.id = i.vault
            left join objects o on o.vault = i.vault and o.digest = i.digest),
        fresh as (
          select l.*, row_number() over w as step, sum(length(l.bytes)) over w as added
          from looked l where not l.homeless and l.same is null
          window w as (partition by l.vault order by l.place)),
        allowed as (
          select * from fresh f where f.objects + f.step <= objects_max and f.used + f.added <= quota),
        stored as (
          insert into objects (vault, change, digest, name, bytes)
          select a.vault, a.change + a.step, a.digest, a.name, a.bytes from allowed a),
        counted as (
          update vaults v set change = v.change + a.steps, objects = v.objects + a.steps, bytes = v.bytes + a.added
          from (
            select allowed.vault, max(allowed.step)::integer as steps, max(allowed.added)::bigint as added
            from allowed group by allowed.vault) a
          where v.id = a.vault)
        select l.place,
          case when l.homeless then 4 when l.same then 1 when not l.same then 2 when a.place is null then 3 else 0 end
        from looked l left join allowed a on a.place = l.place;
    end $$;

    create function remove(vaults_ uuid[], digests uuid[]) returns void language plpgsql as $$
    begin
      perform from vaults v where v.id = any(vaults_) order by v.id for update;
      with removed as (
        delete from objects o using unnest(vaults_, digests) as i(vault, digest)
        where o.vault = i.vault and o.digest = i.digest returning o.vault, length(o.bytes) as bytes)
      update vaults v set objects = v.objects - r.objects, bytes = v.bytes - r.bytes
      from (
        select removed.vault, count(*)::integer as objects, sum(removed.bytes)::bigint as bytes
        from removed group by removed.vault) r
      where v.id = r.vault;
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

    -- The keys afterwards; null if there is no such vault, or none or too many would be left.
    create function change_keys(vault_ uuid, removing bytea[], admitting bytea[], keys_max integer)
    returns bytea[] language plpgsql as $$
    declare changed bytea[];
    begin
      perform from vaults where id = vault_ for update;
      select array(
        select k from vaults v, unnest(v.keys) k where v.id = vault_ and not k = any(removing)
        union select unnest(admitting) order by 1) into changed;
      if cardinality(changed) not between 1 and keys_max then return null; end if;
      update vaults set keys = changed where id = vault_;
      if not found then return null; end if;
      delete from sessions where vault = vault_ and not key = any(changed);
      return changed;
    end $$;
    """
}
