import { useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { FactList, SettingsGroup, useHostQuery } from "./settings-group.tsx";

/** Turns that wait for the memory, and the usage of all conversations. */
export function MemorySettings() {
  const { client } = useApp();
  const [backlog] = useHostQuery(() => client.readMemory());
  const [usage] = useHostQuery(() => client.readUsage());
  const t = strings.settings.memory;
  return (
    <>
      <SettingsGroup title={t.title} hint={t.hint} query={backlog}>
        {({ backlog: { turns, sessions, oldestAt, failing } }) =>
          turns === 0 ? (
            <p>{t.nothing}</p>
          ) : (
            <FactList
              facts={[
                [strings.command.turns, turns.toLocaleString()],
                [strings.command.sessions, sessions.toLocaleString()],
                ...(oldestAt === null ? [] : [[t.oldest, formatMoment(oldestAt)] as const]),
                ...(failing === null
                  ? []
                  : [
                      [strings.command.failing, t.failing(failing.message, failing.tries)] as const,
                    ]),
              ]}
            />
          )
        }
      </SettingsGroup>
      <SettingsGroup title={t.usage} hint={t.usageHint} query={usage}>
        {({ usage: { calls, input, output, cacheRead, costMicros } }) => (
          <FactList
            facts={[
              [strings.context.calls, calls.toLocaleString()],
              [strings.context.tokens, strings.command.tokens(input, output, costMicros)],
              [strings.context.hitShare, cacheRead.toLocaleString()],
            ]}
          />
        )}
      </SettingsGroup>
    </>
  );
}
