import { createStore } from './store.ts'

const NAME = 'tooltrail-theme'
export type Theme = 'system' | 'light' | 'dark'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']

export const theme = createStore<Theme>(THEMES.find((one) => one === localStorage.getItem(NAME)) ?? 'system')

export function setTheme(next: Theme): void {
  theme.set(next)
  localStorage.setItem(NAME, next)
  applyTheme()
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.get()
}

export const nextTheme = (current: Theme): Theme => THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? 'system'
