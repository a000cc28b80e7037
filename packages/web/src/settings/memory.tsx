import { useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { FactList, SettingsGroup, useHostQuery } from "./settings-group.tsx";

/** What has been said and waits to be remembered, and what it all cost. */
export function MemorySettings() {
  const { client } = useApp();
  const [backlog] = useHostQuery(() => client.readMemory());
  const [usage] = useHostQuery(() => client.readUsage());
  const w = strings.settings.memory;
  return (
    <>
      <SettingsGroup title={w.title} hint={w.hint} read={backlog}>
        {({ backlog: { turns, sessions, oldestAt, failing } }) =>
          turns === 0 ? (
            <p>{w.nothing}</p>
          ) : (
            <FactList
              all={[
                [strings.command.turns, turns.toLocaleString()],
                [strings.command.sessions, sessions.toLocaleString()],
                ...(oldestAt === null ? [] : [[w.oldest, formatMoment(oldestAt)] as const]),
                ...(failing === null
                  ? []
                  : [
                      [strings.command.failing, w.failing(failing.message, failing.tries)] as const,
                    ]),
              ]}
            />
          )
        }
      </SettingsGroup>
      <SettingsGroup title={w.usage} hint={w.usageHint} read={usage}>
        {({ usage: { calls, input, output, cacheRead, costMicros } }) => (
          <FactList
            all={[
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
