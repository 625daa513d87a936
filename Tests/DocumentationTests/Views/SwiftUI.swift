// What the examples of views use of SwiftUI, with the same signatures. It shows nothing.

#if canImport(SwiftUI)
  @_exported import SwiftUI
#else
  @MainActor
  protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
  }

  extension Never: View {
    var body: Never { self }
  }

  @resultBuilder
  @MainActor
  struct ViewBuilder {
    static func buildBlock() -> EmptyView { EmptyView() }
    static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  }

  struct EmptyView: View {
    var body: Never { preconditionFailure("it has no body") }
  }

  struct Text: View {
    let text: String
    init(_ text: String) { self.text = text }
    var body: Never { preconditionFailure("it has no body") }
  }

  struct Button: View {
    let title: String
    let action: @MainActor () -> Void

    init(_ title: String, action: @escaping @MainActor () -> Void) {
      self.title = title
      self.action = action
    }

    var body: Never { preconditionFailure("it has no body") }
  }

  struct List<Row: View>: View {
    let rows: [Row]

    init<Data: RandomAccessCollection>(_ data: Data, @ViewBuilder row: (Data.Element) -> Row)
    where Data.Element: Identifiable {
      rows = data.map(row)
    }

    var body: Never { preconditionFailure("it has no body") }
  }

  protocol DynamicProperty {}

  @propertyWrapper
  @MainActor
  struct State<Value> {
    let wrappedValue: Value
    init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    init(initialValue: Value) { wrappedValue = initialValue }
  }

  @propertyWrapper
  @MainActor
  struct StateObject<Value> {
    let wrappedValue: Value
    init(wrappedValue: @autoclosure () -> Value) { self.wrappedValue = wrappedValue() }
  }

  public struct Binding<Value> {
    let get: @MainActor () -> Value
    let set: @MainActor (Value) -> Void
  }

  struct Alert<Content: View>: View {
    let body: Content
    let isPresented: Binding<Bool>
  }

  extension View {
    func alert<Actions: View, Message: View>(
      _ title: String, isPresented: Binding<Bool>, @ViewBuilder actions: () -> Actions,
      @ViewBuilder message: () -> Message
    ) -> Alert<Self> {
      Alert(body: self, isPresented: isPresented)
    }
  }
#endif
