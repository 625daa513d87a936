// The C library, by the name that each platform has for it. Whoever imports this module has it, too.
#if canImport(Darwin)
  @_exported import Darwin
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Glibc
#endif
