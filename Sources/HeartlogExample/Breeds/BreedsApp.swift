import Foundation
import Heartlog
import HeartlogLibraries

/// A dog-breed browser: the breeds, the pictures of one, and the liked pictures.
@MainActor final class BreedsApp: App {
  let name = "breeds"
  var query = ""
  private let shelf: Shelf<BreedImage>
  private let breeds: [String]
  private var breed: String?
  private static let picturesPane = 1

  init(_ store: FavoritesStore) throws {
    breeds = try BreedImage.breeds(answer: Service.json("api/breeds-list-all.json"))
    shelf = Shelf(try FavoritesManager(store).favorites, catalog: try Service.breedImages()) { image in
      "\(image.breed ?? "?")  \(image.url.lastPathComponent)"
    }
  }

  var panes: [Pane] {
    let liked = shelf.model.items
    let pictures = shelf.catalog.filter { image in breed.map { image.breed == $0 } ?? true }
    return [
      Pane(
        title: "Breeds",
        rows: breeds.map { breed in
          let count = liked.count { $0.breed == breed }
          return Row(text: breed, trailing: count > 0 ? "♥ \(count)" : "") { [weak self] in
            self?.breed = breed
            self?.query = ""
            return .pane(Self.picturesPane)
          }
        }.matching(query)),
      Pane(
        title: breed.map { "Pictures of \($0)" } ?? "Pictures",
        rows: pictures.map { shelf.row($0) }.matching(query),
        placeholder: "No pictures."),
      shelf.favorites("Liked", matching: query, placeholder: "Nothing liked yet."),
    ]
  }

  func toggle(_ row: Row) throws { try shelf.toggle(row) }
  func finishWriting() async throws { try await shelf.finishWriting() }

  func detail(of row: Row) throws -> [String] { try shelf.item(row).map { [$0.url.absoluteString] } ?? [] }
}
