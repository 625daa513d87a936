// What a diffable snapshot and its data source have in UIKit, with the same signatures: ids in sections, and cells by id.

#if !os(iOS) && !os(tvOS) && !os(visionOS)
  public struct NSDiffableDataSourceSnapshot<
    SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable
  > {
    private(set) var sections: [(id: SectionIdentifierType, items: [ItemIdentifierType])] = []
    private(set) var reconfigured: [ItemIdentifierType] = []

    public init() {}

    public mutating func appendSections(_ identifiers: [SectionIdentifierType]) {
      sections += identifiers.map { ($0, []) }
    }

    public mutating func appendItems(
      _ identifiers: [ItemIdentifierType], toSection section: SectionIdentifierType?
    ) {
      let index = section.flatMap { id in sections.firstIndex { $0.id == id } } ?? sections.count - 1
      sections[index].items += identifiers
    }

    public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) {
      let known = Set(sections.flatMap(\.items))
      precondition(identifiers.allSatisfy(known.contains), "only items of the snapshot can be configured")
      reconfigured += identifiers
    }
  }

  /// It makes a cell for an item that comes, and makes it anew for one that is to be configured.
  @MainActor
  final class UICollectionViewDiffableDataSource<Section: Hashable & Sendable, Item: Hashable & Sendable> {
    private let cell: (Item) -> String
    private var cells: [Item: String] = [:]
    private(set) var shown: [String] = []

    init(cell: @escaping (Item) -> String) { self.cell = cell }

    func apply(_ snapshot: NSDiffableDataSourceSnapshot<Section, Item>, animatingDifferences: Bool) async {
      for id in snapshot.reconfigured { cells[id] = nil }
      shown = snapshot.sections.flatMap(\.items).map { id in
        let made = cells[id] ?? cell(id)
        cells[id] = made
        return made
      }
    }
  }
#endif
