// The addresses, dates and ids of the items are types of Foundation. The whole of it, with the formatters, is needed
// nowhere; where it comes in parts, the small one does.
#if canImport(FoundationEssentials)
  @_exported import FoundationEssentials
#else
  @_exported import Foundation
#endif
