import { useApp, useStore } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu } from "../ui/menu.tsx";
import { strings } from "../strings/strings.ts";

interface ModelMenuProps {
  /** The model of this session; `null` for the default. */
  readonly model: string | null;
  readonly onChoose: (model: string | null) => void;
}

export function ModelMenu({ model, onChoose }: ModelMenuProps) {
  const { models, router } = useApp();
  const list = useStore(models);
  if (list === null) return null;
  const usableModels = list.models.filter(({ usable }) => usable);
  return (
    <Menu
      label={strings.composer.model}
      visibleLabel={model ?? list.usual}
      className="button plain model-menu"
      items={[
        ...usableModels.map(({ name, window }) => ({
          label: name,
          hint: strings.models.window(window),
          checked: name === (model ?? list.usual),
          onChoose: () => onChoose(name === list.usual ? null : name),
        })),
        "line",
        {
          label: strings.models.setUp,
          icon: "key",
          onChoose: () => router.go({ kind: "settings", section: "models" }),
        },
      ]}
    >
      <span>{model ?? list.usual}</span>
      <Icon name="chevron" />
    </Menu>
  );
}
