import type { SessionId } from "@holdfast/protocol";
import type { ComponentType } from "react";
import { RereadHint } from "../../context/reread-hint.tsx";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";

/** Something of a workspace that counts only after a person has trusted exactly its content. */
export interface Trustable {
  readonly name: string;
  readonly path: string;
  readonly hash: string;
  readonly state: "on" | "off" | "undecided" | "refused";
}

export type Decide<T> = (item: T, decision: "trusted" | "refused") => Promise<void>;

interface TrustTexts {
  readonly folder: string;
  readonly lead: string;
  readonly trust: string;
  readonly refuse: string;
  found(count: number): string;
  trustNamed(name: string): string;
  refuseNamed(name: string): string;
}

interface TrustProps<T> {
  readonly items: readonly T[];
  readonly texts: TrustTexts;
  readonly decide: Decide<T>;
  readonly Summary: ComponentType<{ readonly item: T }>;
}

/** Asks above the composer until somebody has decided about each. */
export function TrustQuestion<T extends Trustable>({
  id,
  items,
  texts,
  decide,
  Summary,
}: TrustProps<T> & { readonly id: SessionId }) {
  const undecided = items.filter(({ state }) => state === "undecided");
  if (undecided.length === 0) return null;
  return (
    <section className="strip card attention" aria-label={texts.found(undecided.length)}>
      <Icon name="file" />
      <div>
        <h3>{texts.found(undecided.length)}</h3>
        <p className="quiet">{texts.lead}</p>
        <RereadHint id={id} />
        <TrustChoices items={undecided} texts={texts} decide={decide} Summary={Summary} />
      </div>
    </section>
  );
}

export function TrustChoices<T extends Trustable>({
  items,
  texts,
  decide,
  Summary,
}: TrustProps<T>) {
  return (
    <ul className="facts-list" aria-label={texts.folder}>
      {items.map((item) => {
        const name = revealInvisible(item.name);
        return (
          <li key={item.path}>
            <Summary item={item} />
            <span className="row">
              {item.state !== "on" && (
                <button
                  type="button"
                  className="button"
                  aria-label={texts.trustNamed(name)}
                  onClick={() => void decide(item, "trusted")}
                >
                  {texts.trust}
                </button>
              )}
              {item.state !== "refused" && (
                <button
                  type="button"
                  className="button"
                  aria-label={texts.refuseNamed(name)}
                  onClick={() => void decide(item, "refused")}
                >
                  {texts.refuse}
                </button>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
