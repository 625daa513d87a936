/// Completion for fish.
struct FishCompletion: Sendable {
  let table: CommandTable

  var script: String {
    """
    # fish completion for heartlog. Load it with: heartlog completions fish | source

    # Prints the command typed so far and the number of its arguments.
    function __heartlog_place
        set -l command
        set -l position 0
        set -l skip 0
        set -l ended 0
        set -l words (commandline -opc)
        for word in $words[2..-1]
            if test $skip = 1
                set skip 0
                continue
            end
            if test $ended = 0
                if test "x$word" = x--
                    set ended 1
                    continue
                end
                switch "$command:$word"
                    case \(valuedPatterns)
                        set skip 1
                        continue
                end
                if string match -qr -- '^-[^0-9.]' $word
                    continue
                end
            end
            if test -z "$command"
                set command $word
            else
                set position (math $position + 1)
            end
        end
        echo "$command:$position"
    end

    function __heartlog_at
        set -l place (__heartlog_place)
        for pattern in $argv
            string match -q -- $pattern $place; and return 0
        end
        return 1
    end

    # Prints what the store knows of a kind.
    function __heartlog_ask
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        command heartlog \(CandidatesRequest.name) fish $argv[1] "" "$current" $words[2..-1] 2>/dev/null
    end

    complete -c heartlog -f
    \(lines.joined(separator: "\n"))

    """
  }

  private var valuedPatterns: String {
    table.valuedOptions.flatMap { valued in valued.option.spellings.map { quoted("\(valued.scope):\($0)") } }
      .joined(separator: " ")
  }

  private var lines: [String] {
    table.globalOptions.map { line($0, condition: nil) }
      + table.commands.map {
        "complete -c heartlog -n '__heartlog_at :0' -a \($0.name) -d \(quoted($0.summary))"
      }
      + table.commands.flatMap(lines)
  }

  private func lines(_ command: CommandDescription) -> [String] {
    let arguments = command.arguments.enumerated().compactMap { index, argument -> String? in
      action(argument.kind).map {
        "complete -c heartlog -n '__heartlog_at \(command.name):\(index)' \($0) -d \(quoted(argument.name))"
      }
    }
    return arguments + command.options.map { line($0, condition: "__heartlog_at \(command.name):*") }
  }

  private func line(_ option: Option, condition: String?) -> String {
    var parts = ["complete -c heartlog"]
    if let condition {
      // The pattern is for string match, not for file names.
      parts.append("-n \"\(condition.split(separator: " ").joined(separator: " '"))'\"")
    }
    if let short = option.short { parts.append("-s \(short)") }
    if let long = option.long { parts.append("-l \(long)") }
    if let value = option.value, option.needsValue {
      parts.append(action(value.kind, isOption: true) ?? "-x")
    }
    parts.append("-d \(quoted(option.summary))")
    return parts.joined(separator: " ")
  }

  private func action(_ kind: ValueKind, isOption: Bool = false) -> String? {
    let exclusive = isOption ? "-x " : ""
    return switch kind {
    case .library:
      "\(exclusive)-a \(quoted(ValueKind.libraries.joined(separator: " ") + " " + ask(kind)))"
    case .item, .replica, .collection: "\(exclusive)-k -a \(quoted(ask(kind)))"
    case .command: "\(exclusive)-a \(quoted(table.commands.map(\.name).joined(separator: " ")))"
    case .choice(let choices): "\(exclusive)-a \(quoted(choices.joined(separator: " ")))"
    case .file: isOption ? "-r -F" : "-F"
    case .directory, .peer: "\(exclusive)-a '(__fish_complete_directories)'"
    case .text, .field, .json, .count, .moment, .date, .event: nil
    }
  }

  private func ask(_ kind: ValueKind) -> String { "(__heartlog_ask \(kind.candidates ?? ""))" }

  private func quoted(_ text: String) -> String {
    "'" + text.reduce(into: "") { $0 += "'\\".contains($1) ? "\\\($1)" : String($1) } + "'"
  }
}
