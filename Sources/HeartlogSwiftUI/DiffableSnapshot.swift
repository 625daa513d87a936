#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Heartlog

  // Where it is not, the tests have what is used of it.
  #if os(iOS) || os(tvOS) || os(visionOS)
    import UIKit
  #endif

  #if os(iOS) || os(tvOS) || os(visionOS) || HEARTLOG_STAND_INS
    extension NSDiffableDataSourceSnapshot {
      /// The list of an update in one section, by the ids of its items. Cells of items whose values changed are configured anew.
      ///
      /// ```swift
      /// await source.apply(NSDiffableDataSourceSnapshot(update, in: 0), animatingDifferences: true)
      /// ```
      ///
      /// - Parameters:
      ///   - update: the list. A data source that takes each of a query's updates shows what changed since the one before.
      ///   - section: the section.
      public init<Item>(_ update: Favorites<Item>.Query.Update, in section: SectionIdentifierType)
      where ItemIdentifierType == Item.ID {
        self.init()
        appendSections([section])
        appendItems(update.items.map(\.id), toSection: section)
        reconfigureItems((update.changed ?? []).map { update.items[$0].id })
      }
    }
  #endif
#endif
