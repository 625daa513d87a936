import Foundation
import HeartlogLibraries
import Testing

@testable import Heartlog

@Suite("settings: saved one by one")
struct SettingsTests {
  private let app: BookShelf
  init() throws { app = try BookShelf() }

  @Test("the defaults: 1.0, 30, 30, true, 900, 2")
  func defaults() {
    let settings = app.library.loadSettings()
    #expect(
      settings.playbackSpeed == 1 && settings.skipForwardInterval == 30 && settings.skipBackwardInterval == 30
    )
    #expect(
      settings.simulateChapters && settings.simulatedChapterLength == 900
        && settings.rewindAfterInterruption == 2)
    #expect(app.commitCount == 0)
  }

  @Test("each setting comes back as it was saved, from the store and from the app's JSON")
  func saved() throws {
    var settings = PlaybackSettings()
    settings.playbackSpeed = 1.5
    settings.skipForwardInterval = 10
    settings.skipBackwardInterval = 20
    settings.simulateChapters = false
    settings.simulatedChapterLength = 300
    settings.rewindAfterInterruption = 4
    try app.library.saveSettings(settings)
    #expect(try app.another().loadSettings() == settings)
    let json = try JSONEncoder().encode(settings)
    #expect(try JSONDecoder().decode(PlaybackSettings.self, from: json) == settings)
    #expect(try JSONDecoder().decode(PlaybackSettings.self, from: Data("{}".utf8)) == PlaybackSettings())
  }

  @Test("each setting merges on its own: what another caller changed meanwhile stays")
  func eachOnItsOwn() throws {
    var mine = app.library.loadSettings()
    let other = try app.another()
    var theirs = other.loadSettings()
    theirs.playbackSpeed = 2
    try other.saveSettings(theirs)
    mine.skipForwardInterval = 15
    try app.library.saveSettings(mine)
    let merged = app.library.loadSettings()
    #expect(merged.playbackSpeed == 2 && merged.skipForwardInterval == 15)
    let commits = app.commitCount
    try app.library.saveSettings(merged)
    #expect(app.commitCount == commits)
  }

  @Test("a field that is missing or no setting takes its default, one at a time")
  func oneAtATime() throws {
    try app.store.library("settings").set(
      [
        Field(name: "playbackSpeed", value: .int64(17)),
        Field(name: "skipForwardInterval", value: .string("x")),
        Field(name: "skipBackwardInterval", value: .int64(10)), Field(name: "sleepTimer", value: .bool(true)),
      ], of: "playback")
    var expected = PlaybackSettings()
    expected.skipBackwardInterval = 10
    #expect(app.library.loadSettings() == expected)
  }

  @Test("out-of-range values throw, and nothing is written")
  func outOfRange() throws {
    var settings = app.library.loadSettings()
    settings.skipForwardInterval = 10
    for speed in [0.4, 2.1, .nan] {
      settings.playbackSpeed = speed
      #expect { try app.library.saveSettings(settings) } throws: { isInvalidItem($0) }
    }
    #expect(app.commitCount == 0)
    for speed in [0.5, 2.0] {
      settings.playbackSpeed = speed
      settings.rewindAfterInterruption = speed - 0.5
      try app.library.saveSettings(settings)
      #expect(try app.another().loadSettings() == settings)
    }
  }
}
