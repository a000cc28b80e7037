import type { PersonaView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { Menu } from "../../ui/menu.tsx";

interface PersonaMenuProps {
  /** `null`: the default one. */
  readonly persona: string | null;
  readonly onChoose: (persona: string) => void;
}

/** Chooses who the agent is in a new conversation, if there is a choice. */
export function PersonaMenu({ persona, onChoose }: PersonaMenuProps) {
  const personas = usePersonas();
  if (personas.length < 2) return null;
  const chosen =
    personas.find(({ id }) => id === persona) ?? personas.find(({ isDefault }) => isDefault);
  const shown = revealInvisible(chosen?.name ?? strings.personas.label);
  return (
    <Menu
      label={strings.personas.menu}
      visibleLabel={shown}
      className="button plain folder-menu"
      items={personas.map(({ id, name, text, isDefault }) => ({
        label: revealInvisible(name),
        hint: isDefault ? strings.personas.isDefault : revealInvisible(text.slice(0, maxHint)),
        icon: "thought" as const,
        checked: id === chosen?.id,
        onChoose: () => onChoose(id),
      }))}
    >
      <Icon name="thought" />
      <span>{shown}</span>
    </Menu>
  );
}

const maxHint = 120;

function usePersonas(): readonly PersonaView[] {
  const { client } = useApp();
  const [personas, setPersonas] = useState<readonly PersonaView[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    void client.listPersonas({}, { signal: leaving.signal }).then((listed) => {
      if (listed.ok) setPersonas(listed.value.personas);
      return undefined;
    });
    return () => leaving.abort();
  }, [client]);
  return personas;
}
