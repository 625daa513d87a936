import Testing

@testable import HeartlogCLI

@Suite("Bisection")
struct BisectionTests {
  /// Searches between two counts; `answer` is asked about the counts between them.
  private func search(
    _ old: Int, _ new: Int, _ answer: (Int) -> Bisection.Answer
  ) -> (found: Range<Int>, questions: Int) {
    var bisection = Bisection(old: old, new: new)
    var questions = 0
    while let count = bisection.next {
      #expect(count > old && count < new)
      questions += 1
      bisection.take(answer(count), after: count)
    }
    return (bisection.candidates, questions)
  }

  @Test("the first commit with the new answer is found with one question for each halving")
  func everyChange() {
    for length in 1...40 {
      for change in 1...length {
        let (found, questions) = search(7, 7 + length) { $0 >= 7 + change ? .new : .old }
        #expect(found == 6 + change..<7 + change)
        #expect(1 << questions < 4 * length)
      }
    }
  }

  @Test(
    "counts without an answer are passed over, and leave several commits only if they surround the change")
  func unknown() {
    for change in 1...20 {
      for first in 1...19 {
        for last in first...19 {
          let unknown = first...last
          let (found, _) = search(0, 20) { unknown.contains($0) ? .unknown : $0 >= change ? .new : .old }
          // The change is between the last old answer and the first new one.
          let old = (0..<change).last { !unknown.contains($0) } ?? 0
          let new = (change...20).first { !unknown.contains($0) } ?? 20
          #expect(found == old..<new)
        }
      }
    }
  }
}
