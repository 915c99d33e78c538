import { FLOORS } from '../lint/house.ts'

/** Colours of one theme, as hexadecimal values. */
interface Theme {
  readonly text: string
  readonly muted: string
  readonly line: string
  readonly box: string
}

const THEMES: { readonly [name: string]: Theme } = {
  light: { text: '#1f2328', muted: '#59636e', line: '#d1d9e0', box: '#f6f8fa' },
  dark: { text: '#f0f6fc', muted: '#9198a1', line: '#3d444d', box: '#151b23' },
}
/** Purpose of each floor, from the lowest. */
const PURPOSES = [
  'types and ids',
  'contracts and pure functions',
  'what happens in a turn',
  'the outside world',
  'composition',
  'entry points',
]

/** Sizes in pixels. */
const WIDTH = 760
const LABEL_WIDTH = 220
const ROW_HEIGHT = 46
const BOX_HEIGHT = 30
const GAP = 8
const ARROW_HEIGHT = 26

/** Draws the floors of the import rule, as one SVG per theme: `floors-light.svg` and `floors-dark.svg`. */
export function drawFloors(): { readonly [file: string]: string } {
  return Object.fromEntries(Object.entries(THEMES).map(([name, theme]) => [`floors-${name}.svg`, draw(theme)]))
}

function draw({ text, muted, line, box }: Theme): string {
  const floors = [...new Set(Object.values(FLOORS))].toSorted((left, right) => right - left)
  const rows = floors.map((floor, index) => drawRow(floor, index * ROW_HEIGHT))
  const height = floors.length * ROW_HEIGHT + ARROW_HEIGHT
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Folders of functions/ by floor. Imports point down only.">
<style>text{font:13px ui-sans-serif,system-ui,sans-serif;fill:${text}}.muted{fill:${muted}}rect{fill:${box};stroke:${line}}line{stroke:${line}}</style>
${rows.join('\n')}
<text class="muted" x="0" y="${height - 8}">Imports point down only. Folders of one floor do not import each other.</text>
</svg>
`
}

function drawRow(floor: number, top: number): string {
  const folders = Object.keys(FLOORS).filter((folder) => FLOORS[folder] === floor)
  const width = (WIDTH - 1 - LABEL_WIDTH - GAP * (folders.length - 1)) / folders.length
  const middle = top + BOX_HEIGHT / 2 + 5
  const boxes = folders.map((folder, index) => {
    const left = LABEL_WIDTH + index * (width + GAP)
    return `<rect x="${left.toFixed(1)}" y="${top + 1}" width="${width.toFixed(1)}" height="${BOX_HEIGHT}" rx="5"/><text x="${(left + width / 2).toFixed(1)}" y="${middle}" text-anchor="middle">${folder}/</text>`
  })
  return `<text x="0" y="${middle}">${floor}</text><text class="muted" x="16" y="${middle}">${PURPOSES[floor - 1] ?? ''}</text>${boxes.join('')}`
}
