import { z } from "zod";
import { flagOf, type SettingName, settingNames, settings } from "../../ops/config/settings.ts";
import { type Command, settingsOf } from "../command.ts";

/** What can be offered in one place of a line: certain words, or what a host or the disk knows. */
export type CompletionSource =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "session" | "model" | "file" | "nothing" };

export interface FlagSpec {
  readonly name: string;
  readonly about: string;
  /** What stands behind it; `null` where nothing does. */
  readonly source: CompletionSource | null;
}

/** A command as a shell has to know it. */
export interface CommandCompletion {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagSpec[];
  /** What may follow the words in the key: `""` the command's name, `"show"` the word behind it. */
  readonly positions: ReadonlyMap<string, CompletionSource>;
}

/** What a label in a usage line or behind a flag stands for. */
const labelSources: Readonly<Record<string, CompletionSource["kind"]>> = {
  session: "session",
  "id or title": "session",
  model: "model",
  file: "file",
  "backup folder": "file",
};

export function completionOf(name: string, summary: string, command: Command): CommandCompletion {
  const own = Object.entries(command.flags ?? {}).map(([flag, { type, value, about }]) => ({
    name: flag,
    about,
    source: type === "boolean" ? null : sourceForLabel(value ?? ""),
  }));
  const shared = settingsOf(command.settings).map((setting) => ({
    name: flagOf(setting),
    about: settings[setting].about,
    source: sourceForSetting(setting),
  }));
  const named = new Set(own.map((flag) => flag.name));
  const help = { name: "help", about: "how it is used, by example", source: null };
  return {
    name,
    summary,
    flags: [...own, ...shared.filter((flag) => !named.has(flag.name)), help],
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

/** Read from the lines that the help shows: `sessions show <session>` offers `show`, and then sessions. */
function positionsIn(usage: readonly string[], name: string): Map<string, CompletionSource> {
  const follows = new Map<string, CompletionSource>();
  const acts: string[] = [];
  for (const line of usage) {
    const found = /^\S+ (?:([a-z|]+)(?: |$))?(?:<([^<>]+)>)?/.exec(line);
    const [, act = "", label] = found ?? [];
    for (const each of act === "" ? [] : act.split("|")) {
      acts.push(each);
      if (label !== undefined) follows.set(each, sourceForPosition(name, label));
    }
    if (act === "" && label !== undefined) follows.set("", sourceForPosition(name, label));
  }
  if (acts.length > 0) follows.set("", { kind: "words", words: acts });
  return follows;
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

/** What the script does for an offer: `@session` asks a host that runs, `@file` the disk, and words are words. */
function sourceText(offer: CompletionSource): string {
  return quote(offer.kind === "words" ? offer.words.join(" ") : `@${offer.kind}`);
}

function caseArms(rows: readonly (readonly [string, string])[], indent: string): string {
  const byText = Map.groupBy(rows, ([, text]) => text);
  return [...byText]
    .map(
      ([text, keys]) => `${indent}${keys.map(([key]) => quote(key)).join("|")}) offer=${text} ;;`,
    )
    .join("\n");
}

/** The part that bash and zsh share: where in the line the cursor stands, and what belongs there. */
function chooseSource(commands: readonly CommandCompletion[], parts: string): string {
  const valued = new Set(
    commands.flatMap(({ flags }) =>
      flags.flatMap(({ name, source: takes }) => (takes === null ? [] : [`--${name}`])),
    ),
  );
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap((flag) =>
      flag.source === null ? [] : [[`${name} --${flag.name}`, sourceText(flag.source)] as const],
    ),
  );
  const flags = commands.map(
    (each) => [each.name, quote(each.flags.map(({ name }) => `--${name}`).join(" "))] as const,
  );
  const words = commands.flatMap(({ name, positions: follows }) =>
    [...follows].map(([key, offer]) => [`${name} ${key}`.trim(), sourceText(offer)] as const),
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
  const rows = commands.flatMap(({ name, summary, flags, positions: follows }) => {
    const here = `__fish_seen_subcommand_from ${name}`;
    const acts = follows.get("");
    const known = acts?.kind === "words" ? acts.words : [];
    return [
      `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
      ...flags.map(
        (flag) =>
          `complete -c holdfast -n ${quote(here)} -l ${flag.name} -d ${quote(flag.about)}${fishSource(flag.source, " -x")}`,
      ),
      ...[...follows].map(([key, offer]) => {
        const place =
          key === ""
            ? `${here}${known.length > 0 ? `; and not __fish_seen_subcommand_from ${known.join(" ")}` : ""}`
            : `${here}; and __fish_seen_subcommand_from ${key}`;
        return `complete -c holdfast -n ${quote(place)}${fishSource(offer, " -f")}`;
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

/** `-x` behind a flag, which needs a value; `-f` where a word may stand. Neither offers files. */
function fishSource(offer: CompletionSource | null, how: " -x" | " -f"): string {
  if (offer === null) return "";
  switch (offer.kind) {
    case "words":
      return `${how} -a ${quote(offer.words.join(" "))}`;
    case "session":
    case "model":
      return `${how} -a ${quote(`(holdfast __complete ${offer.kind} (commandline -ct) (commandline -opc)[3..] 2>/dev/null)`)}`;
    case "file":
      return how === " -x" ? " -r -F" : " -F";
    case "nothing":
      return how;
  }
}
