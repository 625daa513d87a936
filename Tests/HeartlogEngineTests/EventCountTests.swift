#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import HeartlogFiles
import Testing

@Suite("EventCounts")
struct EventCountTests {
  @Test("what was count since it was expected is not waited for")
  func rungBefore() {
    let eventCount = EventCount()
    #expect(!eventCount.advance(), "nobody waits")
    let count = eventCount.prepareToWait()
    #expect(eventCount.advance())
    eventCount.wait(since: count)
    let again = eventCount.prepareToWait()
    #expect(eventCount.advanceForAll())
    eventCount.wait(since: again)
    #expect(!eventCount.advance(), "all were called")
  }

  @Test("threads that wait are woken, one or all")
  func waking() {
    let eventCount = EventCount()
    let expecting = Monitor(0)
    let woken = Monitor(0)
    let threads = (0..<4).map { _ in
      TestThread {
        let count = expecting.withLock { count in
          count += 1
          return eventCount.prepareToWait()
        }
        eventCount.wait(since: count)
        woken.withLock { $0 += 1 }
      }
    }
    while expecting.withLock({ $0 }) < 4 { sched_yield() }
    #expect(expecting.withLock { _ in eventCount.advance() })
    eventCount.wakeOne()
    while woken.withLock({ $0 }) == 0 { sched_yield() }
    #expect(expecting.withLock { _ in eventCount.advanceForAll() })
    eventCount.wakeAll()
    for thread in threads { thread.join() }
    #expect(woken.withLock { $0 } == 4)
  }
}
