import HeartlogFormat

/// What differs between the schemas of two databases.
struct SQLDialect: Sendable {
  /// Runs before the schema is looked at, in the same transaction.
  var prelude = ""
  /// Ends the definition of a table whose rows are updated all the time.
  var counters = ""
  /// Ends the definition of the table of objects.
  var objects = ""
  /// Stands before `table` where the rows need not survive a crash.
  var unlogged = ""
  /// Runs after the schema was made.
  var epilogue = ""
}

/// The schema of the database, and its migrations: "The store" in docs/hub.md.
enum HubSchema {
  /// Each brings a database from the version of its index to the next one.
  private static let migrations = [version1]

  /// Makes the schema, or brings it to the newest version.
  ///
  /// - Throws: `newerFormat` if a newer hub made it.
  static func migrate(_ database: some HubDatabase) throws {
    try database.write { connection in
      try connection.run(script: database.dialect.prelude)
      try connection.run(
        script: "create table if not exists hub (version bigint not null)")
      let version = try connection.run("select version from hub").first?[0].integer() ?? 0
      guard version <= migrations.count else {
        throw HeartlogError(
          .newerFormat,
          "the schema of the database has version \(version); this hub knows up to \(migrations.count): install a newer one"
        )
      }
      if version < migrations.count {
        for migration in migrations[version...] {
          try connection.run(script: migration(database.dialect))
        }
        try connection.run("delete from hub")
        try connection.run(
          "insert into hub (version) values ($1)", .integer(migrations.count))
      }
    }
  }

  /// Ids, keys and digests are bytes in their own order.
  private static func version1(_ dialect: SQLDialect) -> String {
    """
    create table vaults (
      id bytea not null primary key,
      generation bigint not null,
      -- The number of the last change.
      change bigint not null,
      objects bigint not null,
      bytes bigint not null,
      -- Of an encrypted vault, what the hub knows of its root; it begins with the root's key.
      root bytea not null,
      -- Replicas that only the root admits again.
      removed bytea not null,
      -- 1 if members share the quota.
      shared bigint not null
    ) \(dialect.counters);

    -- The admitted keys, with the root. An owner is the beginning of the hash of its key. One that expires, in nanoseconds since 1970, is
    -- that of an invitation; -1 has a device that one brought, until another introduces it, and 0 all others.
    create table members (
      vault bytea not null,
      owner bytea not null,
      key bytea not null,
      objects bigint not null,
      bytes bigint not null,
      expires bigint not null,
      primary key (vault, owner)
    ) \(dialect.counters);

    -- An object is found by the beginning of the hash of its name. Its bytes are last: what comes before is read without them.
    create table objects (
      vault bytea not null,
      change bigint not null,
      digest bytea not null,
      owner bytea not null,
      name text not null,
      bytes bytea not null,
      primary key (vault, change),
      unique (vault, digest)
    ) \(dialect.objects);

    create table invitations (digest bytea not null primary key, vault bytea not null);

    -- Nonces that opened a session. Times are nanoseconds since 1970.
    create \(dialect.unlogged) table nonces (nonce bytea not null primary key, expires bigint not null);
    create index nonces_expires on nonces (expires);

    create \(dialect.unlogged) table sessions (
      digest bytea not null primary key, vault bytea not null, key bytea not null, expires bigint not null
    );
    create index sessions_key on sessions (vault, key, expires);
    create index sessions_expires on sessions (expires);
    \(dialect.epilogue)
    """
  }
}
