import type { RuleView } from "@holdfast/protocol";
import { sentenceOf, useApp } from "../app-context.ts";
import { momentOf } from "../ui/format-time.ts";
import { revealUnseen } from "../ui/markdown/safe-text.ts";
import { words } from "../strings/strings.ts";
import { Part } from "./part.tsx";
import { useRead } from "./settings-group.tsx";

/** What runs without asking, and how to end that. */
export function Rules() {
  const { client, toasts } = useApp();
  const [read, again] = useRead(() => client.listRules());
  const w = words.rules;
  async function remove({ id }: RuleView): Promise<void> {
    const result = await client.removeRule({ params: { id } });
    toasts.tell(result.ok ? w.removed : sentenceOf(result.error));
    again();
  }
  return (
    <Part title={w.title} hint={w.hint} read={read}>
      {({ rules }) =>
        rules.length === 0 ? (
          <p className="quiet">{w.none}</p>
        ) : (
          <ul className="facts-list">
            {rules.map((each) => (
              <li key={each.id}>
                <span className="fact-text">
                  <code dir="ltr">{revealUnseen(each.rule)}</code>
                  <span className="quiet">{w.made(each.by, momentOf(each.madeAt))}</span>
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
    </Part>
  );
}
