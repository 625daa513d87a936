/// What `PublishedFavorites` uses of Combine, without publishers.
@MainActor
public protocol ObservableObject: AnyObject {}

/// A property whose values are published.
@propertyWrapper
public struct Published<Value> {
  public var wrappedValue: Value

  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}
