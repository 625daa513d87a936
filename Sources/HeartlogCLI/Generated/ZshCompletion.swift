/// Completion for zsh: autoloaded from a folder in $fpath as `_heartlog`, or sourced.
struct ZshCompletion: Sendable {
  let table: CommandTable

  var script: String {
    """
    #compdef heartlog
    # zsh completion for heartlog. Load it with: source <(heartlog completions zsh)

    _heartlog_commands() {
      local -a commands=(
    \(table.commands.map { "    \(quoted("\(escaped($0.name)):\($0.summary)"))" }.joined(separator: "\n"))
      )
      _describe -t commands command commands
    }

    # What the store knows of a kind, the last argument.
    _heartlog_ask() {
      local -a found
      found=(${(f)"$(command heartlog \(CandidatesRequest.name) zsh "$argv[-1]" "" "${(Q)PREFIX}" "${(@Q)heartlog_words}" 2>/dev/null)"})
      (( $#found )) && compadd "${(@)argv[1,-2]}" -V "heartlog-$argv[-1]" -a found
    }

    _heartlog_libraries() {
      compadd "$@" - \(ValueKind.libraries.joined(separator: " "))
      _heartlog_ask "$@" library
    }

    _heartlog() {
      local curcontext="$curcontext" state state_descr line
      local -a heartlog_words=("${(@)words[2,CURRENT-1]}")
      local -A opt_args
      local -a globals=(
    \(table.globalOptions.flatMap(specifications).map { "    \($0)" }.joined(separator: "\n"))
      )
      _arguments -C -A '-*' $globals '1: :_heartlog_commands' '*:: :->arguments' && return
      [[ $state == arguments ]] || return
      curcontext="${curcontext%:*}-$words[1]:"
      case $words[1] in
    \(table.commands.map(commandCase).joined(separator: "\n"))
      esac
    }

    if [[ $funcstack[1] == _heartlog ]]; then
      _heartlog "$@"
    else
      (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
      compdef _heartlog heartlog
    fi

    """
  }

  private func commandCase(_ command: CommandDescription) -> String {
    let own = command.options.flatMap(specifications) + command.arguments.enumerated().map(specification)
    return "    \(command.name))\n      _arguments $globals"
      + own.map { " \\\n        \($0)" }.joined() + " ;;"
  }

  /// One specification per spelling; they exclude each other unless the option is repeatable.
  private func specifications(_ option: Option) -> [String] {
    option.spellings.map { spelling in
      let isOnce = option.value == nil || !option.isRepeatable
      let prefix = isOnce ? "(\(option.spellings.joined(separator: " ")))" : "*"
      let value = option.value.map {
        "\(option.needsValue ? ":" : "::")\(escaped($0.name)):\(action($0.kind))"
      }
      let suffix = option.value != nil && spelling.utf8.starts(with: "--".utf8) ? "=" : ""
      return quoted("\(prefix)\(spelling)\(suffix)[\(bracketed(option.summary))]\(value ?? "")")
    }
  }

  private func specification(_ index: Int, _ argument: Argument) -> String {
    let position =
      switch argument.presence {
      case .required: "\(index + 1):"
      case .optional: "\(index + 1)::"
      case .variadic: "*:"
      }
    return quoted("\(position)\(escaped(argument.name)):\(action(argument.kind))")
  }

  private func action(_ kind: ValueKind) -> String {
    switch kind {
    case .library: "_heartlog_libraries"
    case .item, .replica, .collection: "_heartlog_ask \(kind.candidates ?? "")"
    case .command: "_heartlog_commands"
    case .choice(let choices): words(choices)
    case .file: "_files"
    case .directory, .peer: "_files -/"
    case .text, .field, .json, .count, .moment, .date, .event: " "
    }
  }

  private func words(_ words: [String]) -> String { "(\(words.joined(separator: " ")))" }

  private func escaped(_ text: String) -> String {
    text.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
  }

  private func bracketed(_ text: String) -> String {
    text.reduce(into: "") { $0 += "[]\\:".contains($1) ? "\\\($1)" : String($1) }
  }

  private func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
