#if os(Linux)
  import Dispatch

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// The files that this process watches, with one inotify instance for all of them: a user may have 128. There is none while nothing is
  /// watched.
  ///
  /// A store to a mapped page is no event, so a change is announced by setting the file's times.
  final class InotifyWatches: Sendable {
    static let shared = InotifyWatches()

    private struct State {
      var instance: (descriptor: Int32, source: any DispatchSourceRead)?
      /// By the number that the system gives each file.
      var watches: [Int32: [ObjectIdentifier: @Sendable () -> Void]] = [:]
    }

    private let state = Locked(State())

    /// Ends when it is released.
    private final class Watch: LockFileWatch {
      let number = Locked<Int32?>(nil)

      deinit { if let number = number.withLock({ $0 }) { InotifyWatches.shared.remove(self, number) } }
    }

    /// Calls `changed` after each announcement at a file, on any thread.
    ///
    /// - Throws: `EMFILE` or `ENOSPC` if the user has too many instances or watches.
    func watch(_ path: String, _ changed: @escaping @Sendable () -> Void) throws(FileError)
      -> any LockFileWatch
    {
      let call = SystemCall("watch", path)
      let watch = Watch()
      try state.withLock { (state) throws(FileError) in
        let descriptor: Int32 =
          if let instance = state.instance { instance.descriptor } else { try begin(&state, call) }
        do throws(FileError) {
          let number = try call.run { inotify_add_watch(descriptor, $0, UInt32(IN_ATTRIB)) }
          state.watches[number, default: [:]][ObjectIdentifier(watch)] = changed
          watch.number.withLock { $0 = number }
        } catch {
          endIfUnused(&state)
          throw error
        }
      }
      return watch
    }

    private func begin(_ state: inout State, _ call: SystemCall) throws(FileError) -> Int32 {
      let descriptor = try call.run { _ in inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)) }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
      source.setEventHandler { @Sendable in InotifyWatches.shared.takeEvents(from: descriptor) }
      source.setCancelHandler { @Sendable in close(descriptor) }
      source.activate()
      state.instance = (descriptor, source)
      return descriptor
    }

    private func endIfUnused(_ state: inout State) {
      guard state.watches.isEmpty else { return }
      state.instance?.source.cancel()
      state.instance = nil
    }

    private func remove(_ watch: Watch, _ number: Int32) {
      state.withLock { state in
        state.watches[number]?[ObjectIdentifier(watch)] = nil
        guard state.watches[number]?.isEmpty == true, let descriptor = state.instance?.descriptor else {
          return
        }
        state.watches[number] = nil
        // Fails if the file is gone, and its watch with it.
        _ = inotify_rm_watch(descriptor, number)
        endIfUnused(&state)
      }
    }

    private func takeEvents(from descriptor: Int32) {
      var numbers: Set<Int32> = []
      // Events of a file, and not of a folder, have no name behind them.
      withUnsafeTemporaryAllocation(of: inotify_event.self, capacity: 64) { buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress, buffer.count * MemoryLayout<inotify_event>.stride)
          guard count > 0 else { break }
          for event in buffer.prefix(count / MemoryLayout<inotify_event>.stride) { numbers.insert(event.wd) }
        }
      }
      let changed = state.withLock { state in
        // -1 says that events were left out.
        numbers.contains(-1)
          ? state.watches.values.flatMap(\.values)
          : numbers.flatMap { state.watches[$0].map { Array($0.values) } ?? [] }
      }
      for changed in changed { changed() }
    }
  }
#endif
