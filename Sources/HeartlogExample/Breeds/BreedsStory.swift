import Heartlog
import HeartlogLibraries

/// All breeds, the details of one merged with the favorites, likes that update every screen, and the old user
/// defaults.
enum BreedsStory: Story {
  static let name = "breeds"

  static func play(on device: Device, _ display: Display) async throws {
    display.app(name, "a dog-breed browser")
    let answer = try BreedImage.images(answer: Service.json("api/breeds-images.json"))
    func fetch(_ breed: String) -> [BreedImage] { answer.filter { $0.breed == breed } }

    var browser = try BreedBrowser(device.launch(name))
    var updates = browser.updates.makeAsyncIterator()
    if let present = await updates.next() { browser.show(present) }
    display.step("Launched")
    try browser.showBreeds(Service.json("api/breeds-list-all.json"))
    display.screen("All breeds", [browser.breeds.joined(separator: ", ").cut(to: 80)])
    display.favorites(browser)

    display.step("The details of a breed, and taps on two of its images")
    try await browser.showDetails(of: "akita", fetch: fetch)
    display.details(browser)
    for index in [0, 2] where !browser.images[index].isFavorite {
      device.clock.advance(by: 60)
      try browser.likeButtonTapped(browser.images[index])
      if let update = await updates.next() { browser.show(update) }
    }
    display.details(browser)
    display.favorites(browser)

    display.step("One of them is not liked any more")
    try browser.likeButtonTapped(browser.images[0])
    if let update = await updates.next() { browser.show(update) }
    display.favorites(browser)

    display.step("The user defaults of an older version are taken over; one of their records is broken")
    let persisted = try JSONValue.parse(
      Array(
        """
        [{"url": "https://images.dog.ceo/breeds/shiba/shiba-3i.jpg", "isFavorite": true},
         {"url": "https://images.dog.ceo/breeds/akita/512px-Ainu-Dog.jpg", "isFavorite": true},
         {"url": 7, "isFavorite": true}]
        """.utf8))
    let taken = try browser.takeOver(persisted)
    for failure in taken.failures { display.alert("\(failure)") }
    display.screen("Taken over", ["\(taken.count): what was unliked since then stays unliked"])

    display.step("Launched again")
    browser = try BreedBrowser(device.launch(name))
    updates = browser.updates.makeAsyncIterator()
    if let present = await updates.next() { browser.show(present) }
    try await browser.showDetails(of: "akita", fetch: fetch)
    display.details(browser)
    display.favorites(browser)
  }
}

extension BreedImage {
  /// One image.
  var row: String { "\(heart(isFavorite)) \(breed ?? "?")  \(url.lastPathComponent)" }
}

@MainActor
extension Display {
  fileprivate func favorites(_ browser: BreedBrowser) {
    screen("Favorites", browser.favorites.map(\.row).sorted(), orElse: "Nothing liked yet.")
  }

  fileprivate func details(_ browser: BreedBrowser) { screen("Details", browser.images.map(\.row)) }
}
