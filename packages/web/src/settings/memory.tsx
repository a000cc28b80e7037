import { useApp } from "../app-context.ts";
import { momentOf } from "../ui/format-time.ts";
import { words } from "../strings/strings.ts";
import { Facts, Part } from "./part.tsx";
import { useRead } from "./settings-group.tsx";

/** What has been said and waits to be remembered, and what it all cost. */
export function Memory() {
  const { client } = useApp();
  const [backlog] = useRead(() => client.readMemory());
  const [usage] = useRead(() => client.readUsage());
  const w = words.settings.memory;
  return (
    <>
      <Part title={w.title} hint={w.hint} read={backlog}>
        {({ backlog: { turns, sessions, oldestAt, failing } }) =>
          turns === 0 ? (
            <p>{w.nothing}</p>
          ) : (
            <Facts
              all={[
                [words.command.turns, turns.toLocaleString()],
                [words.command.sessions, sessions.toLocaleString()],
                ...(oldestAt === null ? [] : [[w.oldest, momentOf(oldestAt)] as const]),
                ...(failing === null
                  ? []
                  : [[words.command.failing, w.failing(failing.message, failing.tries)] as const]),
              ]}
            />
          )
        }
      </Part>
      <Part title={w.usage} hint={w.usageHint} read={usage}>
        {({ usage: { calls, input, output, cacheRead, costMicros } }) => (
          <Facts
            all={[
              [words.context.calls, calls.toLocaleString()],
              [words.context.tokens, words.command.tokens(input, output, costMicros)],
              [words.context.hitShare, cacheRead.toLocaleString()],
            ]}
          />
        )}
      </Part>
    </>
  );
}
