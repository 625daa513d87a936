// What the examples use of UndoManager, with the same signatures: two stacks, of which one takes what is registered while the other is
// undone.

#if !canImport(Darwin)
  @MainActor
  public final class UndoManager {
    private typealias Action = (target: ObjectIdentifier, name: String, run: () -> Void)
    private var undos: [Action] = []
    private var redos: [Action] = []
    private var isUndoing = false
    private var isRedoing = false

    var undoActionName: String { undos.last?.name ?? "" }
    var redoActionName: String { redos.last?.name ?? "" }

    func registerUndo<Target: AnyObject>(
      withTarget target: Target, handler: @escaping @Sendable (Target) -> Void
    ) {
      let action: Action = (
        ObjectIdentifier(target), "", { [weak target] in if let target { handler(target) } }
      )
      if isUndoing { return redos.append(action) }
      if !isRedoing { redos = [] }
      undos.append(action)
    }

    func setActionName(_ name: String) {
      guard let last = undos.indices.last else { return }
      undos[last].name = name
    }

    func removeAllActions(withTarget target: AnyObject) {
      undos.removeAll { $0.target == ObjectIdentifier(target) }
      redos.removeAll { $0.target == ObjectIdentifier(target) }
    }

    func undo() {
      guard let action = undos.popLast() else { return }
      isUndoing = true
      action.run()
      isUndoing = false
      redos[redos.count - 1].name = action.name
    }

    func redo() {
      guard let action = redos.popLast() else { return }
      isRedoing = true
      action.run()
      isRedoing = false
      undos[undos.count - 1].name = action.name
    }
  }
#endif
