import { z } from "zod";
import { isInFile, isSecret } from "./config-files.ts";
import { flagOf, settingNames, settings, variableOf } from "./settings.ts";

/** The JSON schema of config.json, for completion and validation in editors. */
export function configSchema(): Record<string, unknown> {
  const properties = settingNames.filter(isInFile).map((name) => {
    const { about, allowed, fallbackInWords, schema } = settings[name];
    const { $schema: _, ...shape } = z.toJSONSchema(schema, {
      io: "input",
      unrepresentable: "any",
    });
    const description = `${about}: ${allowed}. Unless set: ${fallbackInWords}. Also ${variableOf(name)} and --${flagOf(name)}.`;
    return [name, { ...shape, description }];
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Settings of Holdfast",
    type: "object",
    properties: { $schema: { type: "string" }, ...Object.fromEntries(properties) },
    additionalProperties: false,
  };
}

/** Every setting as a row of a Markdown table, for the documentation. */
export function settingsTable(): string[] {
  const cell = (text: string): string => text.replaceAll("|", String.raw`\|`);
  return [
    "| in config.json | in the environment | as a flag | what it is | what it may be | unless set |",
    "|---|---|---|---|---|---|",
    ...settingNames.map((name) => {
      const { about, allowed, fallbackInWords } = settings[name];
      const inFile = isInFile(name) ? `\`${name}\`${isSecret(name) ? " (secret)" : ""}` : "–";
      const names = `${inFile} | \`${variableOf(name)}\` | \`--${flagOf(name)}\``;
      return `| ${names} | ${[about, allowed, fallbackInWords].map(cell).join(" | ")} |`;
    }),
  ];
}
