import Foundation
import Heartlog
import HeartlogInterchange
import HeartlogLibraries
import Testing

/// The examples of the libraries' main pages.
@Suite("The overviews")
struct OverviewTests {
  private let url = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")

  @Test("a store, a type, a tap")
  func heartlog() throws {
    defer { try? FileManager.default.removeItem(at: url) }
    nonisolated struct Recipe: Codable, Identifiable, Sendable {
      let id: String
      let title: String
    }
    let store = try FavoritesStore(at: url)
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")
    try recipes.toggle(Recipe(id: "ribollita", title: "Ribollita"))
    #expect(recipes.list().map(\.title) == ["Ribollita"])
  }

  @Test("libraries share one store")
  func libraries() throws {
    let folder = url
    defer { try? FileManager.default.removeItem(at: folder) }
    let archive = Archive(identifier: "art_of_war_librivox")
    let address = try #require(URL(string: "https://arxiv.org/abs/2006.08594v1"))
    let paper = Paper(
      id: "2006.08594v1", title: "A paper", publishedDate: .now, pdfURL: address, linkURL: address)
    let store = try FavoritesStore(at: folder)
    let archives = try FavoriteArchives(store)
    let papers = try FavoritePapers(store)
    try archives.addFavoriteArchive(archive)
    try papers.toggleFavorite(for: paper)
    #expect(archives.favoriteArchives.map(\.id) == ["art_of_war_librivox"])
    #expect(papers.isFavorite(paper))
  }

  @Test("a bibliography in, a table out")
  func interchange() throws {
    let store = try FavoritesStore.inMemory()
    let bytes = Array("@misc{a,\n title = {A},\n eprint = {2006.08594v1}\n}\n@misc{b\n".utf8)
    let papers = try store.favorites(of: Paper.self)
    let format = FileFormats.standard.guess(bytes, name: "library.bib", for: Paper.library) ?? FileFormats.csv
    let report = try papers.importFile(bytes, format: format)
    print(report.added, report.refusals.map(\.line))
    let table = try papers.exportFile(format: FileFormats.csv)
    #expect(format.name == "bibtex" && report.added == 1 && report.refusals.map(\.line) == [5])
    #expect(String(decoding: table, as: UTF8.self).contains("2006.08594v1,A,"))
  }

  @Test("a library of one's own, with what is known of it")
  func descriptor() throws {
    struct RecipesDescriptor: LibraryDescriptor {
      let name = "recipes"
      let fields = [LibraryField("title"), LibraryField("minutes", .number(0...10_000))]
    }
    nonisolated struct Recipe: DescribedItem {
      static let library = "recipes"
      static var descriptor: any LibraryDescriptor { RecipesDescriptor() }

      let id: String
      let title: String
      let minutes: Int
    }
    let formats = FileFormats(libraries: .standard.adding(Recipe.descriptor))
    let recipes = try FavoritesStore.inMemory().favorites(of: Recipe.self)
    let table = Array("id,title,minutes\nnata,Pastel de nata,40\nx,X,-1\n".utf8)
    let format = try #require(formats.guess(table, name: nil, for: "recipes"))
    let report = try recipes.importFile(table, format: format)
    #expect(format.name == "csv" && report.added == 1 && report.refusals.map(\.line) == [3])
    #expect(recipes.list().map(\.minutes) == [40])
  }
}
