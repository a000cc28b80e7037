import { z } from "zod";
import { flagOf, type SettingName, settingNames, settings } from "../../ops/config/settings.ts";
import { type Command, settingsOf } from "../command.ts";

/** What to suggest at a position: fixed words, or what a host or the disk knows. */
export type CompletionSource =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "session" | "model" | "file" | "nothing" };

export interface FlagSpec {
  readonly name: string;
  readonly about: string;
  /** Source of its value; `null` if it takes none. */
  readonly source: CompletionSource | null;
}

/** A command as a completion script needs it. */
export interface CommandCompletion {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagSpec[];
  /** Suggestions by the words before: `""` right after the command's name, `"show"` after that word. */
  readonly positions: ReadonlyMap<string, CompletionSource>;
}

/** The source for a label in a usage line or a flag's placeholder. */
const labelSources: Readonly<Record<string, CompletionSource["kind"]>> = {
  session: "session",
  "id or title": "session",
  model: "model",
  file: "file",
  "backup folder": "file",
};

export function completionOf(name: string, summary: string, command: Command): CommandCompletion {
  const commandFlags = Object.entries(command.flags ?? {}).map(
    ([flag, { type, value, about }]) => ({
      name: flag,
      about,
      source: type === "boolean" ? null : sourceForLabel(value ?? ""),
    }),
  );
  const shared = settingsOf(command.settings).map((setting) => ({
    name: flagOf(setting),
    about: settings[setting].about,
    source: sourceForSetting(setting),
  }));
  const ownNames = new Set(commandFlags.map((flag) => flag.name));
  const help = { name: "help", about: "how it is used, by example", source: null };
  return {
    name,
    summary,
    flags: [...commandFlags, ...shared.filter((flag) => !ownNames.has(flag.name)), help],
    positions: positionsIn(command.usage, name),
  };
}

function sourceForLabel(label: string): CompletionSource {
  if (label.includes("|")) return { kind: "words", words: label.split("|") };
  const kind = Object.hasOwn(labelSources, label) ? labelSources[label] : undefined;
  return kind === undefined || kind === "words" ? { kind: "nothing" } : { kind };
}

function sourceForSetting(name: SettingName): CompletionSource {
  const { schema } = settings[name];
  if (schema instanceof z.ZodEnum) return { kind: "words", words: schema.options.map(String) };
  if (name === "model") return { kind: "model" };
  return { kind: name === "home" || name === "store" ? "file" : "nothing" };
}

/** Derived from the usage lines of the help: `sessions show <session>` suggests `show`, and then sessions. */
function positionsIn(usage: readonly string[], name: string): Map<string, CompletionSource> {
  const positions = new Map<string, CompletionSource>();
  const subcommands: string[] = [];
  for (const line of usage) {
    const match = /^\S+ (?:([a-z][a-z|-]*)(?: |$))?(?:<([^<>]+)>)?/.exec(line);
    const [, subcommand = "", label] = match ?? [];
    for (const word of subcommand === "" ? [] : subcommand.split("|")) {
      subcommands.push(word);
      if (label !== undefined) positions.set(word, sourceForPosition(name, label));
    }
    if (subcommand === "" && label !== undefined) positions.set("", sourceForPosition(name, label));
  }
  if (subcommands.length > 0) positions.set("", { kind: "words", words: subcommands });
  return positions;
}

function sourceForPosition(name: string, label: string): CompletionSource {
  if (name === "config" && label === "name") return { kind: "words", words: settingNames };
  return sourceForLabel(label);
}

/** The shells that a script can be printed for. */
export const shellScripts: Readonly<
  Record<string, (commands: readonly CommandCompletion[]) => string>
> = { bash: bashScript, zsh: zshScript, fish: fishScript };

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * The script's notation for a source: `@session` asks a running host, `@file` the disk, anything else is a list of
 * words.
 */
function sourceText(source: CompletionSource): string {
  return quote(source.kind === "words" ? source.words.join(" ") : `@${source.kind}`);
}

function caseArms(rows: readonly (readonly [string, string])[], indent: string): string {
  const byText = Map.groupBy(rows, ([, text]) => text);
  return [...byText]
    .map(
      ([text, keys]) => `${indent}${keys.map(([key]) => quote(key)).join("|")}) offer=${text} ;;`,
    )
    .join("\n");
}

/** Shared by bash and zsh: finds the cursor's position in the line and the source for it. */
function chooseSource(commands: readonly CommandCompletion[], parts: string): string {
  const valued = new Set(
    commands.flatMap(({ flags }) =>
      flags.flatMap(({ name, source }) => (source === null ? [] : [`--${name}`])),
    ),
  );
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap((flag) =>
      flag.source === null ? [] : [[`${name} --${flag.name}`, sourceText(flag.source)] as const],
    ),
  );
  const flags = commands.map(
    (command) =>
      [command.name, quote(command.flags.map(({ name }) => `--${name}`).join(" "))] as const,
  );
  const words = commands.flatMap(({ name, positions }) =>
    [...positions].map(([key, source]) => [`${name} ${key}`.trim(), sourceText(source)] as const),
  );
  return `  local said="" flag="" part offer=""
  for part in ${parts}; do
    if [[ -n $flag ]]; then flag=""
    elif [[ $part == -* ]]; then
      if [[ ${quote(` ${[...valued].join(" ")} `)} == *" $part "* ]]; then flag="$part"; fi
    else said="$said $part"; fi
  done
  if [[ -n $flag ]]; then
    case "$command $flag" in
${caseArms(values, "      ")}
    esac
  elif [[ $typed == -* ]]; then
    case "$command" in
${caseArms(flags, "      ")}
    esac
  else
    case "$command$said" in
${caseArms([...words, ["help", quote(names(commands))]], "      ")}
    esac
  fi`;
}

function names(commands: readonly CommandCompletion[]): string {
  return [...commands.map(({ name }) => name), "help", "--help", "--version"].join(" ");
}

function bashScript(commands: readonly CommandCompletion[]): string {
  return `# What bash offers for holdfast behind a Tab. Take it in with: source <(holdfast completion bash)
_holdfast() {
  local line="\${COMP_LINE:0:COMP_POINT}" typed command before lines each
  local -a parts
  read -ra parts <<< "$line"
  typed="\${line##*[[:space:]]}"
  if [[ -n $typed ]]; then unset 'parts[-1]'; fi
  command="\${parts[1]-}"
  COMPREPLY=()
${chooseSource(commands, '"${parts[@]:2}"')}
  if (( \${#parts[@]} < 2 )); then offer=${quote(names(commands))}; fi
  case "$offer" in
    @nothing) ;;
    @file) compopt -o default 2>/dev/null ;;
    @*)
      lines="$("\${parts[0]}" __complete "\${offer#@}" "$typed" "\${parts[@]:2}" 2>/dev/null)"
      while IFS=$'\\t' read -r each part; do
        if [[ -z $each ]]; then continue; fi
        # Only where they are listed, and nothing is put into the line, do they say what they are.
        if [[ $COMP_TYPE == 63 && -n $part ]]; then COMPREPLY+=("$each  ($part)"); else COMPREPLY+=("$each"); fi
      done <<< "$lines"
      # bash puts a lone one into the line even then, and a title is anybody's words.
      if (( \${#COMPREPLY[@]} == 1 )); then COMPREPLY=("\${COMPREPLY[0]%%  (*}"); fi ;;
    *) while read -r each; do COMPREPLY+=("$each"); done < <(compgen -W "$offer" -- "$typed") ;;
  esac
  # bash takes a colon for the end of a word: what stands before it is already in the line.
  before="\${typed%"\${COMP_WORDS[COMP_CWORD]}"}"
  if [[ $typed == *:* ]]; then COMPREPLY=("\${COMPREPLY[@]#"$before"}"); fi
}
complete -F _holdfast holdfast
`;
}

function zshScript(commands: readonly CommandCompletion[]): string {
  const described = commands.map(({ name, summary }) =>
    quote(`${name}:${summary.replaceAll(":", String.raw`\:`)}`),
  );
  return `#compdef holdfast
# What zsh offers for holdfast behind a Tab. Take it in with: source <(holdfast completion zsh)
_holdfast() {
  local typed="\${words[CURRENT]}" command="\${words[2]}" each
  local -a lines values shown
${chooseSource(commands, '"${(@)words[3,CURRENT-1]}"')}
  if (( CURRENT == 2 )); then
    lines=(${described.join(" ")})
    _describe 'command' lines
    return
  fi
  case "$offer" in
    ('@nothing') ;;
    ('@file') _files ;;
    (@*)
      lines=("\${(@f)$("\${words[1]}" __complete "\${offer#@}" "$typed" "\${(@)words[3,CURRENT-1]}" 2>/dev/null)}")
      for each in "\${lines[@]}"; do
        if [[ -z $each ]]; then continue; fi
        values+=("\${each%%$'\\t'*}")
        shown+=("\${each/$'\\t'/  }")
      done
      compadd -U -d shown -a values ;;
    (*) values=(\${=offer}); compadd -a values ;;
  esac
}
compdef _holdfast holdfast
`;
}

function fishScript(commands: readonly CommandCompletion[]): string {
  const rows = commands.flatMap(({ name, summary, flags, positions }) => {
    const condition = `__fish_seen_subcommand_from ${name}`;
    const firstSource = positions.get("");
    const subcommands = firstSource?.kind === "words" ? firstSource.words : [];
    return [
      `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
      ...flags.map(
        (flag) =>
          `complete -c holdfast -n ${quote(condition)} -l ${flag.name} -d ${quote(flag.about)}${fishSource(flag.source, " -x")}`,
      ),
      ...[...positions].map(([key, source]) => {
        const fullCondition =
          key === ""
            ? `${condition}${subcommands.length > 0 ? `; and not __fish_seen_subcommand_from ${subcommands.join(" ")}` : ""}`
            : `${condition}; and __fish_seen_subcommand_from ${key}`;
        return `complete -c holdfast -n ${quote(fullCondition)}${fishSource(source, " -f")}`;
      }),
    ];
  });
  return [
    "# What fish offers for holdfast behind a Tab. Take it in with: holdfast completion fish | source",
    "complete -c holdfast -n __fish_use_subcommand -f",
    ...rows,
    "",
  ].join("\n");
}

/** `-x` for a flag, which needs a value; `-f` for a positional. Neither suggests files. */
function fishSource(source: CompletionSource | null, option: " -x" | " -f"): string {
  if (source === null) return "";
  switch (source.kind) {
    case "words":
      return `${option} -a ${quote(source.words.join(" "))}`;
    case "session":
    case "model":
      return `${option} -a ${quote(`(holdfast __complete ${source.kind} (commandline -ct) (commandline -opc)[3..] 2>/dev/null)`)}`;
    case "file":
      return option === " -x" ? " -r -F" : " -F";
    case "nothing":
      return option;
  }
}
