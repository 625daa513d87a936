/// Numbers of which the k-th most frequent comes 1/k as often as the first; which is which is shuffled.
public struct Zipf {
  private var sums: [Double] = []
  private let order: [Int]

  public init(_ count: Int) {
    var sum = 0.0
    for place in 1...count {
      sum += 1 / Double(place)
      sums.append(sum)
    }
    var random = SplitMix(state: UInt64(count))
    order = (0..<count).shuffled(using: &random)
  }

  public func draw(_ random: inout SplitMix) -> Int {
    let place = Double.random(in: 0..<sums[sums.count - 1], using: &random)
    var low = 0
    var high = sums.count - 1
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] > place { high = middle } else { low = middle + 1 }
    }
    return order[low]
  }
}
