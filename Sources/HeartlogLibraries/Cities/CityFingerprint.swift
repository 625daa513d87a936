/// A hash of a city's name, country and coordinates, in 64 bits. It is used to compare all favorites with a
/// catalog without reading the catalog's cities, since a cache miss costs more than the comparison.
///
/// It covers bytes, as comparisons in the store do. The seed is random, so collisions cannot be constructed.
/// By chance, one change in 10¹⁹ goes unnoticed, until the next comparison.
struct CityFingerprint: Hashable, Sendable {
  private let bits: UInt64

  private static let seed = UInt64.random(in: .min ... .max)

  init(_ city: City) {
    // Adding zero turns -0 into 0, as in the store.
    var hash = Self.fold(Self.seed ^ (city.lon + 0).bitPattern, 0xa076_1d64_78bd_642f)
    hash = Self.fold(hash ^ (city.lat + 0).bitPattern, 0xe703_7ed1_a0b4_28db)
    hash = Self.add(city.name, to: hash)
    bits = Self.add(city.country, to: hash)
  }

  /// Multiplies and folds, as in wyhash (Wang Yi, 2019), over words of eight bytes; the length is added
  /// first.
  private static func add(_ text: String, to hash: UInt64) -> UInt64 {
    var text = text
    return text.withUTF8 { bytes in
      var hash = hash ^ UInt64(bytes.count)
      var word: UInt64 = 0
      var count = 0
      for byte in bytes {
        word = word << 8 | UInt64(byte)
        count += 1
        if count.isMultiple(of: 8) {
          hash = fold(hash ^ word, 0xa076_1d64_78bd_642f)
          word = 0
        }
      }
      return fold(hash ^ word, 0xe703_7ed1_a0b4_28db)
    }
  }

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
