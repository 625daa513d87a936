#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Heartlog

  // Where it is not, the tests have what is used of it.
  #if canImport(SwiftUI)
    import SwiftUI
  #endif

  extension UndoStack {
    /// Offers the writes from now on in an app's own way to undo: the edit menu, ⌘Z, a shake, three fingers. The names are those of the writes.
    ///
    /// ```swift
    /// .onChange(of: undoManager, initial: true) { edits.register(with: undoManager) }
    /// ```
    ///
    /// From then on, undo through the manager alone: it counts the steps itself. If an undo or redo fails, `lastError` has the error, and the
    /// manager forgets the writes so far, which the stack can still undo.
    ///
    /// - Parameter manager: That of the window or the view; nil to offer them no longer. It keeps what it has until then.
    public func register(with manager: UndoManager?) {
      didWrite = { [weak self, weak manager] name in
        guard let self, let manager else { return }
        offer(to: manager)
        manager.setActionName(name)
      }
    }

    /// Lets a manager undo a step, and then redo it, and so on: what it is told while it undoes is what it redoes.
    private func offer(to manager: UndoManager, isRedo: Bool = false) {
      manager.registerUndo(withTarget: self) { [weak manager] stack in
        MainActor.assumeIsolated {
          if let manager { stack.offer(to: manager, isRedo: !isRedo) }
          Task {
            do throws(HeartlogError) {
              if isRedo { try await stack.redo() } else { try await stack.undo() }
            } catch {
              stack.lastError = error
              // It has counted a step that was not made.
              manager?.removeAllActions(withTarget: stack)
            }
          }
        }
      }
    }
  }
#endif
