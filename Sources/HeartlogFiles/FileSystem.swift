/// How a file is opened.
package enum OpenMode: Sendable {
  /// To read; the file must exist.
  case read
  /// To read and write; the file must exist.
  case readWrite
  /// To read and write; the file must not exist yet (`O_EXCL`) and is made.
  case createNew
}

/// What stands at a path; symbolic links are followed.
package struct FileInfo: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case file
    case directory
    case other
  }

  package var kind: Kind
  /// In bytes; of a directory, whatever the system says.
  package var size: UInt64
  package var inode: UInt64
  /// Since 1970; 0 where the file system does not know.
  package var birthTimeNanoseconds: Int64
  /// The number of the user whose it is.
  package var owner: UInt32
  /// The nine bits that say who may read, write and execute it: the owner's, the group's, everybody's.
  package var permissions: UInt16

  package init(
    kind: Kind, size: UInt64, inode: UInt64, birthTimeNanoseconds: Int64, owner: UInt32 = 0,
    permissions: UInt16 = 0o700
  ) {
    self.kind = kind
    self.size = size
    self.inode = inode
    self.birthTimeNanoseconds = birthTimeNanoseconds
    self.owner = owner
    self.permissions = permissions
  }

  /// Whether others than the owner may do anything with it.
  package var isOpenToOthers: Bool { permissions & 0o077 != 0 }
}

/// The seam: every system call of the product that touches files goes through here.
package protocol FileSystem: Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any OpenFile

  /// Gives what is at `path` the name `newPath`, replacing what is there in one step.
  func rename(_ path: String, to newPath: String) throws(FileError)

  /// Removes the name of a file; files that are open stay whole until they are closed.
  func remove(_ path: String) throws(FileError)

  /// Makes one directory, whose parent must exist.
  func createDirectory(_ path: String) throws(FileError)

  /// Makes the names in a directory durable: those made, renamed and removed before.
  func synchronizeDirectory(_ path: String) throws(FileError)

  /// The names in a directory without `.` and `..`, sorted by their bytes. Names that are not UTF-8 are
  /// left out: the product never makes one, and could not open it through a `String`.
  func entries(of directory: String) throws(FileError) -> [String]

  /// Nil where nothing has that name.
  func info(_ path: String) throws(FileError) -> FileInfo?

  /// Takes every permission for a file or directory of `owner` from everybody else. Nothing happens to what is another's, or gone; a
  /// symbolic link is passed over, unless it is to be followed.
  ///
  /// - Returns: false where the file system does not let permissions be changed, and others still have some.
  func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(FileError) -> Bool

  /// Opens a lock file of one page. Where the file is missing or short and can be written, it is made that
  /// page of zeros. Where it cannot be written, words can be loaded but `tryLock` throws `EROFS` or
  /// `EACCES`; where it is also missing or short, the words that it lacks are 0.
  func openLock(_ path: String) throws(FileError) -> any LockFile

  /// Whether locks and shared mappings cannot be trusted there: NFS, SMB, CIFS, AFS, Coda.
  func isOnNetwork(_ path: String) throws(FileError) -> Bool

  /// What tells this machine from others, empty where nothing does.
  var machineID: [UInt8] { get }

  /// Asked anew each time, so that a store notices that it is used after a fork.
  var processID: Int32 { get }

  /// Whether there is a process of that number, as far as this one can tell.
  func isRunning(_ process: Int32) -> Bool

  /// The number of the user that the process acts for; 0 may change what is anybody's.
  var userID: UInt32 { get }
}

extension FileSystem {
  /// A file system that is no system's knows this process alone.
  package func isRunning(_ process: Int32) -> Bool { process == processID }

  /// A file system that is no system's has no users.
  package var userID: UInt32 { 0 }
  package func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(FileError) -> Bool {
    true
  }
}
