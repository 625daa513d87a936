/// A statement that each connection prepares.
enum PostgresStatement: String, CaseIterable {
  case check
  case createVault
  case removeVault
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
    case .createVault:
      """
      select create_vault(
        $1::uuid, $2::bigint, $3::bytea[], $4::uuid[], $5::bytea, $6::uuid, $7::uuid[], $8::boolean, $9::bytea)
      """
    case .removeVault: "select remove_vault($1::uuid)"
    case .keys:
      """
      select key, 0 from members where vault = $1::uuid
      union all select root_state, 1 from vaults where id = $1::uuid and root_state is not null
      union all select uuid_send(unnest(removed)), 2 from vaults where id = $1::uuid
      """
    case .changeKeys:
      """
      select change_keys(
        $1::uuid, $2::bytea[], $3::bytea, $4::uuid[], $5::bytea[], $6::uuid[], $7::bytea, $8::uuid, $9::uuid[],
        $10::boolean, $11::uuid[], $12::text[], $13::bytea[])
      """
    case .position:
      """
      select generation, change from vaults v join members m on m.vault = v.id
      where v.id = $1::uuid and m.owner = $2::uuid
      """
    case .list:
      """
      select name, length(bytes), change from objects
      where vault = $1::uuid and change > $2::bigint order by change limit $3::integer
      """
    case .look:
      """
      select length(o.bytes), case when length(o.bytes) <= $5::integer then o.bytes end
      from members m left join objects o on o.vault = m.vault and o.digest = $2::uuid and o.name = $3::text
      where m.vault = $1::uuid and m.owner = $4::uuid
      """
    case .get: "select bytes from objects where vault = $1::uuid and digest = $2::uuid and name = $3::text"
    case .put:
      """
      select * from put(
        $1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::uuid[], $6::bigint, $7::integer, $8::bigint,
        $9::integer)
      """
    case .remove: "select * from remove($1::uuid[], $2::uuid[], $3::uuid[])"
    case .notify:
      "select set_config('synchronous_commit', 'off', true), pg_notify('\(PostgresNotices.channel)', $1::text)"
    case .vaultCount: "select count(*) from vaults"
    case .isAdmitted: "select 1 from members where vault = $1::uuid and owner = $2::uuid"
    case .secret: "select bytes from secret"
    case .openSession:
      "select open_session($1::bytea, $2::uuid, $3::uuid, $4::bytea, $5::bytea, $6::integer, $7::integer)"
    case .session:
      """
      select vault, key, (extract(epoch from expires - clock_timestamp()) * 1000)::bigint
      from sessions where digest = $1::bytea and expires > clock_timestamp()
      """
    }
  }
}
