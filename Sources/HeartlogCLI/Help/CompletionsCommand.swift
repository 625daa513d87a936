/// `heartlog completions`: prints a shell completion script.
enum CompletionsCommand: Command {
  private static let shell = Argument(
    "SHELL", .required, .choice(ValueKind.shells), "One of \(ValueKind.shells.joined(separator: ", ")).")

  static let description = CommandDescription(
    name: "completions", group: .help, summary: "print a completion script for your shell",
    arguments: [shell],
    page: """
      Load the script in your shell's startup file. It completes commands, options, libraries and files, and the ids, devices and collections of
      your store.

      source <(heartlog completions bash)  # Add this line to ~/.bashrc.
      source <(heartlog completions zsh)  # Add this line to ~/.zshrc.
      heartlog completions fish > ~/.config/fish/completions/heartlog.fish  # Run this once; fish loads the file by itself.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try context.output.write(Self.scripts[arguments.text(Self.shell)] ?? "")
    return .success
  }

  /// The scripts for `ValueKind.shells`. They ask the program what may come next, and complete only files themselves.
  static let scripts = ["bash": bash, "zsh": zsh, "fish": fish]

  /// For bash 3.2 (the version of macOS) and later, without the bash-completion package.
  private static let bash = """
    # bash completion for heartlog. Load it with: source <(heartlog completions bash)

    _heartlog() {
      # bash ends words at colons and equals signs, too: put them together again. What is before the last end stays as it is typed.
      local words=() last=0 head="" rest="$COMP_LINE" piece="" breaks=':=@<>;|&(' i line kind=""
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
      local current="${words[last]}"
      if [[ -n $piece && $piece != *[!"$breaks"]* ]]; then
        head="$current"
      fi
      COMPREPLY=()
      while IFS= read -r line; do
        if [[ -n $kind ]]; then
          COMPREPLY+=("$line")
        else
          kind="$line"
        fi
      done < <(command heartlog \(CandidatesRequest.name) bash "$head" "$current" "${words[@]:1:last-1}" 2>/dev/null)
      if [[ $kind == words ]]; then
        compopt -o nosort 2>/dev/null
        return
      fi
      if [[ $current == --*=* ]]; then
        current="${current#*=}"
        head="${head#*=}"
      fi
      local IFS=$'\\n'
      compopt -o filenames 2>/dev/null
      case "$kind" in
        files) COMPREPLY=($(compgen -f -- "$current")) ;;
        directories) COMPREPLY=($(compgen -d -- "$current")) ;;
      esac
      COMPREPLY=("${COMPREPLY[@]#"$head"}")
    }

    complete -F _heartlog heartlog

    """

  /// Autoloaded from a folder in $fpath as `_heartlog`, or sourced.
  private static let zsh = """
    #compdef heartlog
    # zsh completion for heartlog. Load it with: source <(heartlog completions zsh)

    _heartlog() {
      local line
      local -a lines found shown
      lines=("${(@f)$(command heartlog \(CandidatesRequest.name) zsh "" "${(Q)PREFIX}" "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
      case $lines[1] in
        words)
          for line in "${(@)lines[2,-1]}"; do
            found+=("${line%%$'\\t'*}")
            shown+=("${line/$'\\t'/  -- }")
          done
          compadd -V heartlog -d shown -a found
          ;;
        files)
          compset -P '--*='
          _files
          ;;
        directories)
          compset -P '--*='
          _files -/
          ;;
      esac
    }

    if [[ $funcstack[1] == _heartlog ]]; then
      _heartlog "$@"
    else
      (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
      compdef _heartlog heartlog
    fi

    """

  private static let fish = """
    # fish completion for heartlog. Load it with: heartlog completions fish | source

    function __heartlog_complete
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        set -l lines (command heartlog \(CandidatesRequest.name) fish "" "$current" $words[2..-1] 2>/dev/null)
        set -l option (string match -r -- '^--[^=]*=' $current)
        set -l path (string replace -r -- '^--[^=]*=' '' $current)
        switch "$lines[1]"
            case words
                string join -- \\n $lines[2..-1]
            case files
                string replace -r -- '^' "$option" (__fish_complete_path "$path")
            case directories
                string replace -r -- '^' "$option" (__fish_complete_directories "$path")
        end
    end

    complete -c heartlog -f -k -a '(__heartlog_complete)'

    """
}
