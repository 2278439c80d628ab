"""Questions with exact first and second derivatives, as frameworks of automatic differentiation ask them."""
