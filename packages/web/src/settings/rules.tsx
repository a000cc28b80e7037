import type { RuleView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup } from "./part.tsx";
import { useHostQuery } from "./settings-group.tsx";

/** What runs without asking, and how to end that. */
export function RuleList() {
  const { client, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.listRules());
  const w = strings.rules;
  async function remove({ id }: RuleView): Promise<void> {
    const result = await client.removeRule({ params: { id } });
    toasts.show(result.ok ? w.removed : problemText(result.error));
    again();
  }
  return (
    <SettingsGroup title={w.title} hint={w.hint} read={read}>
      {({ rules }) =>
        rules.length === 0 ? (
          <p className="quiet">{w.none}</p>
        ) : (
          <ul className="facts-list">
            {rules.map((each) => (
              <li key={each.id}>
                <span className="fact-text">
                  <code dir="ltr">{revealInvisible(each.rule)}</code>
                  <span className="quiet">{w.made(each.by, formatMoment(each.madeAt))}</span>
                </span>
                <button
                  type="button"
                  className="button"
                  aria-label={w.removeNamed(each.rule)}
                  onClick={() => void remove(each)}
                >
                  {w.remove}
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}
