import HeartlogFormat
import HeartlogHTTPServer
import Testing

@testable import HeartlogHubServer

@Suite struct HubRouteTests {
  private static let vault = VaultID(String(repeating: "0", count: 31) + "1")!
  private static let base = "/v1/vaults/\(vault)"
  private static let id = String(repeating: "a", count: 32)
  private static let run =
    "\(id)/\(id)/0000000000000001-0000000000000002-" + String(repeating: "0", count: 16) + "-"
    + String(repeating: "f", count: 16)

  @Test func pathsSayWhatIsAskedFor() throws {
    func route(
      _ action: HubRoute.Action, _ name: String = "", after: ChangeCursor? = nil, limit: Int = 1_000
    ) -> HubRoute {
      HubRoute(action: action, vault: Self.vault, name: name, after: after, limit: limit)
    }
    let expected: [(String, String, HubRoute)] = [
      ("GET", "/healthz", HubRoute(action: .health)),
      ("POST", "/v1/sessions", HubRoute(action: .openSession)),
      ("PUT", Self.base, route(.createVault)), ("GET", Self.base + "/keys", route(.keys)),
      ("POST", Self.base + "/keys", route(.changeKeys)),
      ("GET", Self.base + "/objects", route(.list)),
      (
        "GET", Self.base + "/objects?after=000000000000000a-7&limit=3",
        route(.list, after: ChangeCursor(generation: 10, number: 7), limit: 3)
      ),
      ("GET", Self.base + "/changes", route(.changes)),
      ("PUT", Self.base + "/objects/\(Self.run).run", route(.put, Self.run + ".run")),
      ("GET", Self.base + "/objects/keys/\(Self.id)", route(.get, "keys/" + Self.id)),
      (
        "PUT", Self.base + "/objects/keys/\(Self.id)-\(Self.id)",
        route(.put, "keys/\(Self.id)-\(Self.id)")
      ),
      ("DELETE", Self.base + "/objects/\(Self.run).run", route(.delete, Self.run + ".run")),
    ]
    for (method, target, route) in expected {
      #expect(try HubRoute(method: method, target: target) == route, "\(method) \(target)")
    }
  }

  @Test func otherPathsAreRefused() throws {
    let refused: [(String, String, UInt32)] = [
      ("GET", "/", 404), ("GET", "/metrics", 404), ("GET", "/v2/sessions", 404),
      ("GET", Self.base + "/other", 404),
      ("GET", "/v1/sessions", 405), ("DELETE", Self.base, 405), ("POST", Self.base + "/objects", 405),
      ("POST", Self.base + "/changes", 405), ("GET", "healthz", 400), ("GET", "//healthz", 400),
      ("GET", "/healthz/", 400), ("GET", "/healthz?a=b", 400), ("GET", "/v1/../healthz", 400),
      ("GET", "/v1/vaults/\(Self.id.uppercased())/keys", 400), ("GET", Self.base + "%2fkeys", 400),
      ("GET", Self.base + "/objects?limit=0", 400), ("GET", Self.base + "/objects?limit=01", 400),
      ("GET", Self.base + "/objects?limit=1001", 400), ("GET", Self.base + "/objects?limit=1&limit=1", 400),
      ("GET", Self.base + "/objects?after=000000000000000a-07", 400),
      ("GET", Self.base + "/objects?after=a-7", 400), ("GET", Self.base + "/objects?other=1", 400),
      ("GET", Self.base + "/objects/\(Self.run) 2.run", 400),
      ("GET", Self.base + "/objects/\(Self.run)", 400),
      ("GET", Self.base + "/objects/\(Self.id)/\(Self.id)/../x.run", 400),
      ("GET", Self.base + "/objects/keys/\(Self.id.uppercased())", 400),
      ("GET", Self.base + "/objects/", 400),
      ("GET", Self.base + "/objects/keys/\(Self.id)-\(Self.id)-\(Self.id)", 400),
      ("GET", Self.base + "/objects/keys/\(Self.id)/\(Self.id)", 400),
      ("GET", "/" + String(repeating: "a", count: 1_024), 414),
    ]
    for (method, target, status) in refused {
      let refusal = #expect(throws: HTTPResponse.self, "\(target)") {
        try HubRoute(method: method, target: target)
      }
      #expect(refusal?.status == status, "\(method) \(target)")
    }
  }

  @Test func cursorsHaveOneForm() {
    #expect(ChangeCursor("00000000000000ff-12") == ChangeCursor(generation: 255, number: 12))
    #expect(ChangeCursor(generation: .max, number: 0).description == "ffffffffffffffff-0")
    for text in [
      "", "-", "x", "00000000000000ff-", "00000000000000ff-01", "00000000000000FF-1", "00000000000000ff-+1",
      "0000000000000ff-1", "00000000000000ff",
    ] {
      #expect(ChangeCursor(text) == nil, "\(text)")
    }
  }
}
