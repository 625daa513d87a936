import HeartlogEngine
import HeartlogFormat

extension Favorites.Query {
  /// The items now, and again whenever they are others. It ends with its task, or when the store is closed.
  ///
  /// Many changes at once are one update, and a change that leaves the items as they are is none. Reading takes place off the main actor.
  public var updates: Updates { Updates(query: self) }

  /// The number of items now, and again whenever it is another one. It ends with its task, or when the store is closed.
  ///
  /// - Complexity: O(1) at each change without a filter, a search and a limit.
  public var counts: Counts { Counts(query: self) }

  /// The items of a query as they were at a moment.
  public struct Update: Sendable {
    /// The items.
    public let items: ItemList<Item>
    /// The positions, ascending, of items that were in the update before, with other values; nil for the first update.
    public let changed: [Int]?
    /// The items that could not be decoded: the id of each, with an error of the code `invalidItem`. With a limit, those that were met.
    public let failures: [(id: String, error: HeartlogError)]
  }

  /// The updates of a query.
  public struct Updates: AsyncSequence, Sendable {
    fileprivate let query: Favorites.Query

    public func makeAsyncIterator() -> Iterator { Iterator(query: query) }

    /// A reader's position in the updates.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let query: Favorites.Query
      private var followed: (subscription: ChangeSubscription, rows: QueryRows<Item>)?

      fileprivate init(query: Favorites.Query) { self.query = query }

      /// Returns the next update; nil once the task is cancelled or the store is closed.
      public mutating func next() async -> Update? {
        guard let (subscription, before) = followed else {
          // Subscribe first, then read: a change in between is read twice, but none is missed.
          let subscription = query.favorites.library.allChanges.subscription
          let rows = QueryRows(query)
          followed = (subscription, rows)
          return Update(items: rows.items, changed: nil, failures: rows.failures)
        }
        var rows = before
        // The only reference to the rows: they are changed in place.
        followed = nil
        defer { followed = (subscription, rows) }
        while let notice = await subscription.next() {
          let failures = rows.failures
          let changed = rows.follow(changedItems([notice] + subscription.takeWaiting()))
          if changed == nil,
            rows.failures.elementsEqual(
              failures, by: { $0.id == $1.id && $0.error.message == $1.error.message })
          {
            continue
          }
          return Update(items: rows.items, changed: changed ?? [], failures: rows.failures)
        }
        return nil
      }
    }
  }

  /// The numbers of items of a query.
  public struct Counts: AsyncSequence, Sendable {
    fileprivate let query: Favorites.Query

    public func makeAsyncIterator() -> Iterator { Iterator(query: query) }

    /// A reader's position in the numbers.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let query: Favorites.Query
      private var subscription: ChangeSubscription?
      private var last: Int?

      fileprivate init(query: Favorites.Query) { self.query = query }

      /// Returns the next number; nil once the task is cancelled or the store is closed.
      public mutating func next() async -> Int? {
        while true {
          if let subscription {
            guard await subscription.next() != nil else { return nil }
            _ = subscription.takeWaiting()
          } else {
            subscription = query.favorites.library.allChanges.subscription
          }
          let count =
            query.isEverything ? query.favorites.count : query.load(upTo: query.limit).page.items.count
          guard count != last else { continue }
          last = count
          return count
        }
      }
    }
  }
}

/// The items that notices are about; nil if some were left out.
func changedItems(_ notices: [ChangeNotice]) -> Set<UTF8Key>? {
  var ids: Set<UTF8Key> = []
  for notice in notices {
    guard case .change(let change) = notice else { return nil }
    ids.insert(UTF8Key(change.event.item))
  }
  return ids
}
