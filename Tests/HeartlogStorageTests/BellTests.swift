#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import HeartlogFiles
import Testing

@Suite("Bells")
struct BellTests {
  @Test("what was rung since it was expected is not waited for")
  func rungBefore() {
    let bell = Bell()
    #expect(!bell.ring(), "nobody waits")
    let rung = bell.expect()
    #expect(bell.ring())
    bell.wait(since: rung)
    let again = bell.expect()
    #expect(bell.ringForAll())
    bell.wait(since: again)
    #expect(!bell.ring(), "all were called")
  }

  @Test("threads that wait are woken, one or all")
  func waking() {
    let bell = Bell()
    let expecting = Guarded(0)
    let woken = Guarded(0)
    let threads = (0..<4).map { _ in
      TestThread {
        let rung = expecting.withLock { count in
          count += 1
          return bell.expect()
        }
        bell.wait(since: rung)
        woken.withLock { $0 += 1 }
      }
    }
    while expecting.withLock({ $0 }) < 4 { sched_yield() }
    #expect(expecting.withLock { _ in bell.ring() })
    bell.wakeOne()
    while woken.withLock({ $0 }) == 0 { sched_yield() }
    #expect(expecting.withLock { _ in bell.ringForAll() })
    bell.wakeAll()
    for thread in threads { thread.join() }
    #expect(woken.withLock { $0 } == 4)
  }
}
