/// Completion for bash 3.2 (the version of macOS) and later, without the bash-completion package.
struct BashCompletion: Sendable {
  let table: CommandTable

  var script: String {
    """
    # bash completion for heartlog. Load it with: source <(heartlog completions bash)

    _heartlog_words() {
      local IFS=$' \\n'
      COMPREPLY=($(compgen -W "$1" -- "$2"))
    }

    _heartlog_paths() {
      local IFS=$'\\n'
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen "$1" -- "$2"))
      COMPREPLY=("${COMPREPLY[@]#"$head"}")
    }

    # What the store knows.
    _heartlog_ask() {
      local candidate
      compopt -o nosort 2>/dev/null
      while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
      done < <(command heartlog \(CandidatesRequest.name) bash "$1" "$head" "$current" "${words[@]:1:last-1}" 2>/dev/null)
    }

    _heartlog() {
      local current="" previous="" command="" word="" position=0 ended="" i
      # bash ends words at colons and equals signs, too: put them together again. What is before the last end stays as it is typed.
      local words=() last=0 head="" rest="$COMP_LINE" piece="" breaks=':=@<>;|&('
      for ((i = 0; i <= COMP_CWORD; i++)); do
        piece="${COMP_WORDS[i]}"
        if [[ $i == 0 || -z $rest || $rest == [[:space:]]* ]]; then
          last=$((i == 0 ? 0 : last + 1))
          words[last]=""
        fi
        head="${words[last]}"
        words[last]="$head$piece"
        rest="${rest#"${rest%%[![:space:]]*}"}"
        rest="${rest#"$piece"}"
      done
      current="${words[last]}"
      if [[ -n $piece && $piece != *[!"$breaks"]* ]]; then
        head="$current"
      fi
      COMPREPLY=()
      for ((i = 1; i < last; i++)); do
        word="${words[i]}"
        if [[ -n $previous ]]; then
          previous=""
        elif [[ -z $ended && $word == -- ]]; then
          ended=1
        elif [[ -z $ended && $word == -[!0-9.]* ]]; then
          case "$command:$word" in
            \(valuedPatterns)) previous="$word" ;;
          esac
        elif [[ -z $command ]]; then
          command="$word"
        else
          position=$((position + 1))
        fi
      done
      if [[ -z $ended && $current == --*=* ]]; then
        previous="${current%%=*}"
        current="${current#*=}"
        head="${head#*=}"
      fi
      if [[ -n $previous ]]; then
        case "$command:$previous" in
    \(valueCases)
        esac
        return
      fi
      if [[ -z $ended && $current == -* ]]; then
        case "$command" in
    \(optionCases)
        esac
        return
      fi
      if [[ -z $command ]]; then
        _heartlog_words "\(table.commands.map(\.name).joined(separator: " "))" "$current"
        return
      fi
      case "$command:$position" in
    \(argumentCases)
      esac
    }

    complete -F _heartlog heartlog

    """
  }

  private func patterns(_ scope: String, _ option: Option) -> [String] {
    option.spellings.map { "\(scope):\($0)" }
  }

  private var valuedPatterns: String {
    table.valuedOptions.flatMap { patterns($0.scope, $0.option) }.joined(separator: " | ")
  }

  private var valueCases: String {
    table.valuedOptions.compactMap { scope, option in
      option.value.flatMap { action($0.kind) }.map {
        "      \(patterns(scope, option).joined(separator: " | "))) \($0) ;;"
      }
    }.joined(separator: "\n")
  }

  private var optionCases: String {
    let globals = table.globalOptions.flatMap(\.spellings)
    var cases = table.commands.filter { !$0.options.isEmpty }.map { command in
      let words = (command.options.flatMap(\.spellings) + globals).joined(separator: " ")
      return "      \(command.name)) _heartlog_words \"\(words)\" \"$current\" ;;"
    }
    cases.append("      *) _heartlog_words \"\(globals.joined(separator: " "))\" \"$current\" ;;")
    return cases.joined(separator: "\n")
  }

  private var argumentCases: String {
    table.commands.flatMap { command in
      command.arguments.enumerated().compactMap { index, argument in
        action(argument.kind).map { "    \(command.name):\(index)) \($0) ;;" }
      }
    }.joined(separator: "\n")
  }

  private func action(_ kind: ValueKind) -> String? {
    switch kind {
    case .library: "\(words(ValueKind.libraries)); \(ask(kind))"
    case .item, .replica, .collection: ask(kind)
    case .command: words(table.commands.map(\.name))
    case .choice(let choices): words(choices)
    case .file: "_heartlog_paths -f \"$current\""
    case .directory, .peer: "_heartlog_paths -d \"$current\""
    case .text, .field, .json, .count, .moment, .date, .event: nil
    }
  }

  private func ask(_ kind: ValueKind) -> String { "_heartlog_ask \(kind.candidates ?? "")" }

  private func words(_ words: [String]) -> String {
    "_heartlog_words \"\(words.joined(separator: " "))\" \"$current\""
  }
}
