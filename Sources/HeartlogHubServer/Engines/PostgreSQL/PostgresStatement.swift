/// A statement that each connection prepares.
enum PostgresStatement: String, CaseIterable {
  case check
  case createVault
  case keys
  case changeKeys
  case position
  case list
  case look
  case get
  case put
  case remove
  case notify
  case vaultCount
  case isAdmitted
  case secret
  case openSession
  case session

  var text: String {
    switch self {
    case .check: "select 1 where not pg_is_in_recovery()"
    case .createVault: "select create_vault($1::uuid, $2::bigint, $3::bytea, $4::bytea)"
    case .keys: "select unnest(keys) from vaults where id = $1::uuid"
    case .changeKeys:
      "select * from change_keys($1::uuid, $2::bytea, $3::bytea[], $4::bytea[], $5::integer)"
    case .position:
      "select generation, change from vaults where id = $1::uuid and $2::bytea = any(keys)"
    case .list:
      """
      select name, length(bytes), change from objects
      where vault = $1::uuid and change > $2::bigint order by change limit $3::integer
      """
    case .look:
      """
      select length(o.bytes), case when length(o.bytes) <= $5::integer then o.bytes end
      from vaults v left join objects o on o.vault = v.id and o.digest = $2::uuid and o.name = $3::text
      where v.id = $1::uuid and $4::bytea = any(v.keys)
      """
    case .get: "select bytes from objects where vault = $1::uuid and digest = $2::uuid and name = $3::text"
    case .put:
      """
      select * from put($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint, $7::integer)
      """
    case .remove: "select * from remove($1::uuid[], $2::uuid[], $3::bytea[])"
    case .notify:
      "select set_config('synchronous_commit', 'off', true), pg_notify('\(PostgresNotices.channel)', $1::text)"
    case .vaultCount: "select count(*) from vaults"
    case .isAdmitted: "select 1 from vaults where id = $1::uuid and $2::bytea = any(keys)"
    case .secret: "select bytes from secret"
    case .openSession:
      "select open_session($1::bytea, $2::uuid, $3::bytea, $4::bytea, $5::integer, $6::integer)"
    case .session:
      """
      select vault, key, (extract(epoch from expires - clock_timestamp()) * 1000)::bigint
      from sessions where digest = $1::bytea and expires > clock_timestamp()
      """
    }
  }
}
