import type { Json } from "@holdfast/protocol";

/** What exactly would run, as a person can check it: each argument apart, nothing left out, nothing interpreted. */
export function describeCall(name: string, input: Json): string {
  if (input === null) return name;
  if (typeof input !== "object" || Array.isArray(input)) return `${name} ${JSON.stringify(input)}`;
  const { command, ...rest } = input;
  const others = Object.entries(rest).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (typeof command === "string")
    return [`${name} (by a shell): ${command}`, ...others].join("\n");
  if (Array.isArray(command) && command.every((each) => typeof each === "string"))
    return [`${name}: ${command.map(shellQuote).join(" ")}`, ...others].join("\n");
  const all = Object.entries(input).map(([key, value]) => `${key}: ${formatArgument(value)}`);
  if (all.length === 0) return name;
  return all.length === 1 ? `${name} ${all[0]}` : [name, ...all].join("\n");
}

function formatArgument(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** As a shell would have to be given it, so that blanks and quotes cannot hide where an argument ends. */
function shellQuote(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}
